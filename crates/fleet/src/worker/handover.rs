//! Makes a session's files available to other hosts: checks out, restores, and packs changes after
//! each tool, before the journal records that the tool has ended.
//!
//! A session whose worker dies continues with the files of its last finished tool. Changes by a
//! tool that was running then are lost with the host, and the model is told that its outcome is
//! unknown.

use std::path::PathBuf;

use windlass_workspace::{
    CancelFlag, LookDepth, PackOptions, RestoreConsent, SnapshotId, Workspace, WorkspaceError,
    WorkspaceOptions,
};

use super::checkout::{CheckoutRequest, check_out};
use super::result_branch::{BranchRequest, push_changes};
use super::workspace_patch::render_patch;
use crate::session_spec::WorkspaceSpec;
use crate::store::{BranchOutcome, NewPack};

pub(crate) struct HandoverRequest {
    pub(crate) root: PathBuf,
    /// The folder for snapshots.
    pub(crate) store: PathBuf,
    pub(crate) repositories: PathBuf,
    pub(crate) spec: Option<WorkspaceSpec>,
    pub(crate) base_commit: Option<String>,
    /// The changes that earlier hosts made.
    pub(crate) packs: Vec<(i32, Vec<u8>)>,
    pub(crate) cancel: CancelFlag,
}

/// The working directory of a session on this host.
pub(crate) struct HandoverWorkspace {
    workspace: Workspace,
    /// The snapshot of the fresh checkout.
    base: SnapshotId,
    /// The commit of the checkout; `None` without a repository.
    pub(crate) commit: Option<String>,
    /// The snapshot up to which the store has packs.
    last: SnapshotId,
    /// What every later host has: without what an earlier one built, which no pack carries.
    packed: SnapshotId,
    number: i32,
    /// The snapshot up to which the store has a patch.
    patched: SnapshotId,
}

/// The changes from one snapshot to the next.
pub(crate) struct WorkspacePack {
    pub(crate) number: i32,
    pub(crate) snapshot: String,
    pub(crate) bytes: Vec<u8>,
}

impl WorkspacePack {
    pub(crate) fn to_new(&self) -> NewPack<'_> {
        NewPack { number: self.number, snapshot: &self.snapshot, bytes: &self.bytes }
    }
}

impl HandoverWorkspace {
    /// Checks out as the spec says, then applies the packs of earlier hosts. Blocks.
    pub(crate) fn prepare(request: &HandoverRequest) -> Result<Self, String> {
        let HandoverRequest { root, store, repositories, spec, base_commit, packs, cancel } =
            request;
        let commit = match spec {
            None => {
                std::fs::create_dir_all(root).map_err(|error| error.to_string())?;
                None
            }
            Some(spec) => {
                let base_commit = base_commit.as_deref();
                Some(check_out(&CheckoutRequest { spec, base_commit, repositories, root, cancel })?)
            }
        };
        let words = |error: WorkspaceError| format!("the workspace: {error}");
        let mut workspace =
            Workspace::open(root, store, WorkspaceOptions::default()).map_err(words)?;
        let base = workspace.look(LookDepth::Quick, cancel).map_err(words)?.id;
        let mut last = base;
        let mut packed = base;
        let mut number = 0;
        for (pack_number, bytes) in packs {
            last = workspace.unpack(&mut bytes.as_slice()).map_err(words)?;
            packed = last;
            number = *pack_number;
        }
        if last != base {
            let mut plan = workspace.plan(last, &[], cancel).map_err(words)?;
            // Packs exclude git's own state: that of the fresh clone stays.
            plan.steps.retain(|step| !step.path.is_git_state());
            workspace.carry_out(&plan, &RestoreConsent::All, cancel).map_err(words)?;
            last = workspace.look(LookDepth::Quick, cancel).map_err(words)?.id;
        }
        Ok(Self { workspace, base, commit, last, packed, number, patched: base })
    }

    /// Packs the changes since the last pack; `None` if there are none. Blocks.
    pub(crate) fn pack_changes(&mut self) -> Result<Option<WorkspacePack>, String> {
        let words = |error: WorkspaceError| format!("the workspace: {error}");
        let seen = self.workspace.look(LookDepth::Quick, &CancelFlag::new()).map_err(words)?;
        if seen.id == self.last {
            return Ok(None);
        }
        let options = PackOptions { known: vec![self.base, self.packed], ..PackOptions::default() };
        let mut bytes = Vec::new();
        self.workspace.pack(seen.id, &options, &mut bytes).map_err(words)?;
        self.packed = seen.id;
        self.last = seen.id;
        self.number += 1;
        Ok(Some(WorkspacePack { number: self.number, snapshot: seen.id.to_string(), bytes }))
    }

    /// Pushes the session's changes since its start to a branch; `None` if there are none. Blocks.
    pub(crate) fn push_branch(
        &self,
        request: &BranchRequest<'_>,
    ) -> Result<Option<BranchOutcome>, String> {
        push_changes(request, &self.workspace, self.base, self.last)
    }

    /// The session's changes since its start as a patch; `None` if the store has that patch.
    /// Blocks.
    pub(crate) fn render_patch(&mut self) -> Result<Option<String>, String> {
        if self.last == self.patched {
            return Ok(None);
        }
        let patch = render_patch(&self.workspace, self.base, self.last);
        self.patched = self.last;
        patch.map(Some).map_err(|error| format!("the patch: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take_over(folder: &std::path::Path, packs: &[(i32, Vec<u8>)]) -> HandoverWorkspace {
        let request = HandoverRequest {
            root: folder.join("root"),
            store: folder.join("store"),
            repositories: folder.join("repositories"),
            spec: None,
            base_commit: None,
            packs: packs.to_vec(),
            cancel: CancelFlag::new(),
        };
        HandoverWorkspace::prepare(&request).expect("the packs are taken")
    }

    #[test]
    fn what_one_host_built_keeps_no_later_host_from_going_on() {
        let hosts = [(); 3].map(|()| tempfile::tempdir().expect("a folder"));
        let mut packs = Vec::new();
        for (host, name) in hosts.iter().zip(["package/one", "two", "three"]) {
            let mut workspace = take_over(host.path(), &packs);
            let root = host.path().join("root");
            if packs.is_empty() {
                // No pack carries it, so the next host's record of the folder is another.
                std::fs::create_dir_all(root.join("package/built")).expect("a folder");
                std::fs::write(root.join(".gitignore"), "built/\n").expect("written");
            }
            assert_eq!(root.join("package/one").exists(), !packs.is_empty());
            std::fs::write(root.join(name), "text").expect("written");
            let pack = workspace.pack_changes().expect("packed").expect("there are changes");
            packs.push((pack.number, pack.bytes));
        }
    }
}
