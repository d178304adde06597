//! The files of a session, so that another host can go on with them: fetched, restored, and packed after
//! each tool, before the journal says that the tool has ended.
//!
//! A session whose worker dies goes on with the files of its last finished tool. What a tool that was
//! running then did to files is gone with the host, and the model is told that its outcome is unknown.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use windlass_workspace::{
    CancelFlag, LookDepth, PackOptions, RestoreConsent, SnapshotId, Workspace, WorkspaceError,
    WorkspaceOptions,
};

use crate::session_spec::WorkspaceSpec;

/// The working directory of a session on this host.
pub(crate) struct HandoverWorkspace {
    workspace: Workspace,
    /// What the store has.
    last: SnapshotId,
    number: i32,
}

/// A step from one snapshot to the next, for the store.
pub(crate) struct WorkspacePack {
    pub(crate) number: i32,
    pub(crate) snapshot: String,
    pub(crate) bytes: Vec<u8>,
}

impl HandoverWorkspace {
    /// Makes the directory as the spec says, then applies the packs of earlier hosts. Blocks.
    pub(crate) fn prepare(
        root: &Path,
        store: &Path,
        repositories: &Path,
        spec: Option<&WorkspaceSpec>,
        packs: &[(i32, Vec<u8>)],
    ) -> Result<Self, String> {
        match spec {
            None => std::fs::create_dir_all(root).map_err(|error| error.to_string())?,
            Some(spec) => check_out(spec, repositories, root)?,
        }
        let words = |error: WorkspaceError| format!("the workspace: {error}");
        let mut workspace =
            Workspace::open(root, store, WorkspaceOptions::default()).map_err(words)?;
        let cancel = CancelFlag::new();
        let base = workspace.look(LookDepth::Quick, &cancel).map_err(words)?.id;
        let mut last = base;
        let mut number = 0;
        for (pack_number, bytes) in packs {
            last = workspace.unpack(&mut bytes.as_slice()).map_err(words)?;
            number = *pack_number;
        }
        if last != base {
            let mut plan = workspace.plan(last, &[], &cancel).map_err(words)?;
            // Git's own state does not travel: that of the fresh clone stays.
            plan.steps.retain(|step| !step.path.is_git_state());
            workspace.carry_out(&plan, &RestoreConsent::All, &cancel).map_err(words)?;
            last = workspace.look(LookDepth::Quick, &cancel).map_err(words)?.id;
        }
        Ok(Self { workspace, last, number })
    }

    /// What changed since the last pack, if anything did. Blocks.
    pub(crate) fn pack_changes(&mut self) -> Result<Option<WorkspacePack>, String> {
        let words = |error: WorkspaceError| format!("the workspace: {error}");
        let seen = self.workspace.look(LookDepth::Quick, &CancelFlag::new()).map_err(words)?;
        if seen.id == self.last {
            return Ok(None);
        }
        let options = PackOptions { known: vec![self.last], ..PackOptions::default() };
        let mut bytes = Vec::new();
        self.workspace.pack(seen.id, &options, &mut bytes).map_err(words)?;
        self.last = seen.id;
        self.number += 1;
        Ok(Some(WorkspacePack { number: self.number, snapshot: seen.id.to_string(), bytes }))
    }
}

/// Clones a repository through a bare copy that all sessions of this host share.
fn check_out(spec: &WorkspaceSpec, repositories: &Path, root: &Path) -> Result<(), String> {
    std::fs::create_dir_all(repositories).map_err(|error| error.to_string())?;
    let digest = ring::digest::digest(&ring::digest::SHA256, spec.git.as_bytes());
    let name = windlass_vocabulary::to_hex(digest.as_ref());
    let bare = repositories.join(format!("{name}.git"));
    // Two sessions of one repository must not fetch at once.
    let lock = std::fs::File::create(repositories.join(format!("{name}.lock")))
        .map_err(|error| error.to_string())?;
    lock.lock().map_err(|error| error.to_string())?;
    let bare_text = bare.to_string_lossy().into_owned();
    if bare.join("HEAD").is_file() {
        let refs = "+refs/*:refs/*";
        run_git(repositories, &["--git-dir", &bare_text, "fetch", "--prune", "origin", refs])?;
    } else {
        let partial = repositories.join(format!("{name}.partial"));
        let _ = std::fs::remove_dir_all(&partial);
        let partial_text = partial.to_string_lossy().into_owned();
        run_git(repositories, &["clone", "--mirror", "--", &spec.git, &partial_text])?;
        std::fs::rename(&partial, &bare).map_err(|error| error.to_string())?;
    }
    let root_text = root.to_string_lossy().into_owned();
    run_git(
        repositories,
        &["clone", "--no-hardlinks", "--no-checkout", "--", &bare_text, &root_text],
    )?;
    let commit = spec.commit.as_deref().unwrap_or("HEAD");
    // A branch of the repository is a remote branch of the clone of its copy.
    let remote = format!("refs/remotes/origin/{commit}");
    let has_remote = run_git(root, &["rev-parse", "--verify", "--quiet", &remote]).is_ok();
    let target = if has_remote { remote.as_str() } else { commit };
    run_git(root, &["checkout", "--detach", target, "--"])?;
    drop(lock);
    Ok(())
}

/// Runs git with a network and without anything that a repository or a user's files name.
fn run_git(directory: &Path, arguments: &[&str]) -> Result<(), String> {
    let program = ["/usr/bin/git", "/bin/git", "/usr/local/bin/git"].into_iter().map(PathBuf::from);
    let program = program.into_iter().find(|path| path.is_file());
    let program = program.ok_or("there is no git here; install it")?;
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .envs(windlass_git::build_safe_variables(&[]))
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_ALLOW_PROTOCOL", "https:http:ssh:git:file")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("git cannot be started: {error}"))?;
    let deadline = Instant::now() + GIT_TIMEOUT;
    let errors = child.stderr.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        if let Some(errors) = errors {
            let _ = std::io::Read::read_to_string(
                &mut std::io::Read::take(errors, 64 << 10),
                &mut text,
            );
        }
        text
    });
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if Instant::now() > deadline => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("git took longer than {} seconds", GIT_TIMEOUT.as_secs()));
            }
            None => std::thread::sleep(GIT_POLL),
        }
    };
    let errors = reader.join().unwrap_or_default();
    match status.success() {
        true => Ok(()),
        false => Err(format!("git {}: {}", arguments.first().unwrap_or(&""), errors.trim())),
    }
}

const GIT_TIMEOUT: Duration = Duration::from_secs(600);
const GIT_POLL: Duration = Duration::from_millis(20);
