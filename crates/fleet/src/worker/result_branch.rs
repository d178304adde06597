//! Pushes what a session changed as one commit on a branch of its repository.
//!
//! The commit is made in this host's mirror of the repository, from the session's snapshots. The
//! session's own clone is not used: the session could have set hooks, remotes and programs there,
//! and they would run with the worker's keys.
//!
//! A branch is only created, or replaced if its commit names this session. Nobody else's work is
//! ever overwritten, and a push that is repeated by another worker after a crash succeeds.

use std::io::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use windlass_workspace::{
    CancelFlag, PathChange, PathImage, SnapshotId, Workspace, WorkspaceError,
};

use super::checkout::{mirror_path, wait_for_lock};
use super::git_call::GitCall;
use super::workspace_patch::travels;
use crate::session_spec::WorkspaceSpec;
use crate::store::BranchOutcome;

/// What to push.
pub(crate) struct BranchRequest<'a> {
    pub(crate) spec: &'a WorkspaceSpec,
    pub(crate) branch: &'a str,
    pub(crate) session: &'a str,
    pub(crate) base_commit: &'a str,
    pub(crate) repositories: &'a Path,
    pub(crate) cancel: &'a CancelFlag,
}

/// Pushes the changes between two snapshots. Returns `None` if there are none, so that no branch is
/// needed. Blocks.
pub(crate) fn push_changes(
    request: &BranchRequest<'_>,
    workspace: &Workspace,
    from: SnapshotId,
    to: SnapshotId,
) -> Result<Option<BranchOutcome>, String> {
    let words = |error: WorkspaceError| format!("the workspace: {error}");
    let mut changes = workspace.changes(from, to).map_err(words)?;
    changes.retain(|change| {
        let is_leaf = is_committed(&change.before) || is_committed(&change.after);
        is_leaf && !change.path.is_git_state() && travels(&change.before) && travels(&change.after)
    });
    let mirror = BranchMirror::new(request);
    let there = mirror.find_branch()?;
    if changes.is_empty() && there.is_none() {
        return Ok(None);
    }
    let lock = wait_for_lock(&mirror.bare.with_extension("lock"), request.cancel)?;
    let commit = mirror.commit(workspace, &changes)?;
    if let Some(there) = &there {
        if !mirror.is_ours(there)? {
            return Err(format!(
                "the branch {} is there already and not this session's; choose another name",
                request.branch
            ));
        }
        if mirror.has_same_files(there, &commit)? {
            return Ok(Some(mirror.to_pushed(there)));
        }
    }
    // A slow remote must not hold up other sessions of the repository.
    drop(lock);
    mirror.push(&commit, there.as_deref())?;
    Ok(Some(mirror.to_pushed(&commit)))
}

/// Whether git keeps it as an entry of its own.
fn is_committed(image: &PathImage) -> bool {
    matches!(image, PathImage::File { .. } | PathImage::Link { .. })
}

/// This host's mirror of the repository, and what is done there.
struct BranchMirror<'a> {
    request: &'a BranchRequest<'a>,
    bare: std::path::PathBuf,
    /// Where the commit is until it is pushed.
    own_reference: String,
}

impl<'a> BranchMirror<'a> {
    fn new(request: &'a BranchRequest<'a>) -> Self {
        let bare = mirror_path(request.repositories, &request.spec.git);
        Self { request, bare, own_reference: format!("refs/windlass/{}", request.session) }
    }

    fn run(&self, protocol: &'static str, arguments: &[&str]) -> Result<String, String> {
        self.run_with_input(protocol, arguments, |_| Ok(()))
    }

    fn run_with_input(
        &self,
        protocol: &'static str,
        arguments: &[&str],
        write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
    ) -> Result<String, String> {
        let cancel = self.request.cancel.clone();
        let git = GitCall { directory: self.request.repositories.to_owned(), protocol, cancel };
        let bare = self.bare.to_string_lossy();
        let arguments = [&["--git-dir", bare.as_ref()][..], arguments].concat();
        git.run_with_input(&arguments, write)
    }

    fn run_local(&self, arguments: &[&str]) -> Result<String, String> {
        self.run("file", arguments)
    }

    fn run_remote(&self, arguments: &[&str]) -> Result<String, String> {
        self.run(self.request.spec.protocol(), arguments)
    }

    fn to_pushed(&self, commit: &str) -> BranchOutcome {
        BranchOutcome::Pushed { branch: self.request.branch.to_owned(), commit: commit.to_owned() }
    }

    fn reference(&self) -> String {
        format!("refs/heads/{}", self.request.branch)
    }

    /// The commit of the branch in the repository, if it is there.
    fn find_branch(&self) -> Result<Option<String>, String> {
        let reference = self.reference();
        let listed = self.run_remote(&["ls-remote", "--", &self.request.spec.git, &reference])?;
        let line = listed.lines().find_map(|line| line.strip_suffix(&format!("\t{reference}")));
        Ok(line.map(str::to_owned))
    }

    /// Whether the commit names this session.
    fn is_ours(&self, commit: &str) -> Result<bool, String> {
        let seen = format!("{}-there", self.own_reference);
        let refspec = format!("+{}:{seen}", self.reference());
        let url = &self.request.spec.git;
        self.run_remote(&["fetch", "--no-tags", "--", url, &refspec])?;
        let message = self.run_local(&["log", "-1", "--format=%B", commit, "--"])?;
        let trailer = self.trailer();
        Ok(message.lines().any(|line| line == trailer))
    }

    fn trailer(&self) -> String {
        format!("Windlass-Session: {}", self.request.session)
    }

    fn has_same_files(&self, one: &str, other: &str) -> Result<bool, String> {
        let tree = |commit: &str| {
            self.run_local(&["rev-parse", "--verify", &format!("{commit}^{{tree}}")])
        };
        Ok(tree(one)? == tree(other)?)
    }

    /// Makes the commit in the mirror. Returns its id.
    fn commit(&self, workspace: &Workspace, changes: &[PathChange]) -> Result<String, String> {
        let fast_import = ["fast-import", "--quiet", "--force", "--done", "--date-format=raw"];
        self.run_with_input("file", &fast_import, |stream| {
            self.write_commit(stream, workspace, changes)
        })?;
        let commit = self.run_local(&["rev-parse", "--verify", &self.own_reference])?;
        Ok(commit.trim().to_owned())
    }

    fn write_commit(
        &self,
        stream: &mut dyn Write,
        workspace: &Workspace,
        changes: &[PathChange],
    ) -> std::io::Result<()> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_secs());
        let message =
            format!("Changes of session {}\n\n{}\n", self.request.session, self.trailer());
        writeln!(stream, "commit {}", self.own_reference)?;
        writeln!(stream, "committer Windlass <windlass@localhost> {now} +0000")?;
        write!(stream, "data {}\n{message}\n", message.len())?;
        writeln!(stream, "from {}", self.request.base_commit)?;
        // A file may have become a folder, or a folder a file: removals come first.
        for change in changes.iter().filter(|change| !is_committed(&change.after)) {
            writeln!(stream, "D {}", quote_path(change.path.as_bytes()))?;
        }
        for change in changes {
            let (mode, bytes) = match &change.after {
                PathImage::File { content, mode, .. } => {
                    let bytes = workspace.read(content).map_err(std::io::Error::other)?;
                    (if mode & 0o111 == 0 { "100644" } else { "100755" }, bytes)
                }
                PathImage::Link { target } => ("120000", target.clone()),
                PathImage::Absent | PathImage::Folder { .. } | PathImage::Uncovered { .. } => {
                    continue;
                }
            };
            writeln!(stream, "M {mode} inline {}", quote_path(change.path.as_bytes()))?;
            writeln!(stream, "data {}", bytes.len())?;
            stream.write_all(&bytes)?;
            writeln!(stream)?;
        }
        writeln!(stream, "done")
    }

    /// Pushes the commit if the branch still has this one.
    fn push(&self, commit: &str, there: Option<&str>) -> Result<(), String> {
        let reference = self.reference();
        let expected = there.unwrap_or_default();
        let lease = format!("--force-with-lease={reference}:{expected}");
        let refspec = format!("{commit}:{reference}");
        let url = &self.request.spec.git;
        // By its URL: the mirror's remote would push everything else, too.
        self.run_remote(&["push", "--no-verify", &lease, "--", url, &refspec]).map(drop)
    }
}

/// A path as fast-import reads it: whatever is unusual as the number of its byte.
fn quote_path(path: &[u8]) -> String {
    let mut quoted = String::from("\"");
    for byte in path {
        match byte {
            b'"' | b'\\' | 0..=31 | 127.. => quoted.push_str(&format!("\\{byte:03o}")),
            byte => quoted.push(char::from(*byte)),
        }
    }
    quoted.push('"');
    quoted
}
