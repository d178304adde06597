//! Checks out a repository through a bare mirror that all sessions of this host share.

use std::fs::TryLockError;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use windlass_workspace::CancelFlag;

use crate::session_spec::WorkspaceSpec;

pub(crate) struct CheckoutRequest<'a> {
    pub(crate) spec: &'a WorkspaceSpec,
    /// The commit an earlier host of the session checked out; a branch may have moved since.
    pub(crate) base_commit: Option<&'a str>,
    pub(crate) repositories: &'a Path,
    pub(crate) root: &'a Path,
    pub(crate) cancel: &'a CancelFlag,
}

/// Fetches and checks out. Returns the commit. Blocks.
pub(crate) fn check_out(request: &CheckoutRequest<'_>) -> Result<String, String> {
    let CheckoutRequest { spec, base_commit, repositories, root, cancel } = *request;
    std::fs::create_dir_all(repositories).map_err(|error| error.to_string())?;
    let digest = ring::digest::digest(&ring::digest::SHA256, spec.git.as_bytes());
    let name = windlass_vocabulary::to_hex(digest.as_ref());
    let bare = repositories.join(format!("{name}.git"));
    let git = |directory: &Path, protocol: &'static str| GitCall {
        directory: directory.to_owned(),
        protocol,
        cancel: cancel.clone(),
    };
    let remote = git(repositories, spec.protocol());
    // Sessions of the same repository must not fetch concurrently.
    let lock = wait_for_lock(&repositories.join(format!("{name}.lock")), cancel)?;
    let bare_text = bare.to_string_lossy().into_owned();
    if bare.join("HEAD").is_file() {
        let refs = "+refs/*:refs/*";
        remote.run(&["--git-dir", &bare_text, "fetch", "--prune", "origin", refs])?;
    } else {
        let partial = repositories.join(format!("{name}.partial"));
        let _ = std::fs::remove_dir_all(&partial);
        let partial_text = partial.to_string_lossy().into_owned();
        remote.run(&["clone", "--mirror", "--", &spec.git, &partial_text])?;
        std::fs::rename(&partial, &bare).map_err(|error| error.to_string())?;
    }
    let local = git(repositories, "file");
    if let Some(commit) = base_commit
        && local.run(&["--git-dir", &bare_text, "cat-file", "-e", commit]).is_err()
    {
        // No branch contains the commit any more; some servers still serve it by its id.
        remote.run(&["--git-dir", &bare_text, "fetch", "origin", commit])?;
    }
    let root_text = root.to_string_lossy().into_owned();
    local.run(&["clone", "--no-hardlinks", "--no-checkout", "--", &bare_text, &root_text])?;
    drop(lock);
    let inside = git(root, "file");
    let wanted = base_commit.or(spec.commit.as_deref()).unwrap_or("HEAD");
    // The mirror's branches are remote branches in its clone.
    let branch = format!("refs/remotes/origin/{wanted}");
    let has_branch = inside.run(&["rev-parse", "--verify", "--quiet", &branch]).is_ok();
    inside.run(&["checkout", "--detach", if has_branch { &branch } else { wanted }, "--"])?;
    Ok(inside.run(&["rev-parse", "HEAD"])?.trim().to_owned())
}

/// Removes mirrors that no session has used for this long. A mirror in use is locked. Blocks.
pub(crate) fn remove_unused_repositories(repositories: &Path, age: Duration) -> usize {
    let mut removed = 0;
    for entry in std::fs::read_dir(repositories).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|end| end != "lock") {
            continue;
        }
        // Every use opens the lock anew and so changes its time.
        let used = entry.metadata().and_then(|found| found.modified());
        let is_old = used.is_ok_and(|used| used.elapsed().is_ok_and(|elapsed| elapsed > age));
        let Ok(lock) = std::fs::File::open(&path) else { continue };
        if is_old && lock.try_lock().is_ok() {
            let _ = std::fs::remove_dir_all(path.with_extension("git"));
            let _ = std::fs::remove_dir_all(path.with_extension("partial"));
            // The lock stays: another session may wait for it right now.
            removed += 1;
        }
    }
    removed
}

fn wait_for_lock(path: &Path, cancel: &CancelFlag) -> Result<std::fs::File, String> {
    let lock = std::fs::File::create(path).map_err(|error| error.to_string())?;
    let touched = lock.set_modified(std::time::SystemTime::now());
    touched.map_err(|error| error.to_string())?;
    let deadline = Instant::now() + GIT_TIMEOUT;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::Error(error)) => return Err(error.to_string()),
            Err(TryLockError::WouldBlock) if cancel.is_cancelled() => return Err(cancelled()),
            Err(TryLockError::WouldBlock) if Instant::now() > deadline => {
                return Err("another session still fetches the same repository".to_owned());
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(GIT_POLL),
        }
    }
}

/// Runs git without the configuration, hooks and programs of the repository and the user.
struct GitCall {
    directory: PathBuf,
    /// The only protocol it may use.
    protocol: &'static str,
    cancel: CancelFlag,
}

impl GitCall {
    /// Runs git to its end. On timeout or cancellation, kills it with all its children. Returns its
    /// stdout.
    fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let program = ["/usr/bin/git", "/bin/git", "/usr/local/bin/git"];
        let program = program.into_iter().map(Path::new).find(|path| path.is_file());
        let program = program.ok_or("there is no git here; install it")?;
        let child = Command::new(program)
            // A redirect could lead to a host that the session may not access.
            .args(["-c", "http.followRedirects=false"])
            .args(arguments)
            .current_dir(&self.directory)
            .envs(windlass_git::build_safe_variables(&[]))
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ALLOW_PROTOCOL", self.protocol)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .map_err(|error| format!("git cannot be started: {error}"))?;
        let mut group = CheckoutProcessGroup(child);
        let output = spawn_reader(group.0.stdout.take());
        let errors = spawn_reader(group.0.stderr.take());
        let deadline = Instant::now() + GIT_TIMEOUT;
        let status = loop {
            match group.0.try_wait().map_err(|error| error.to_string())? {
                Some(status) => break status,
                None if self.cancel.is_cancelled() => return Err(cancelled()),
                None if Instant::now() > deadline => {
                    return Err(format!("git took longer than {} seconds", GIT_TIMEOUT.as_secs()));
                }
                None => std::thread::sleep(GIT_POLL),
            }
        };
        match status.success() {
            true => Ok(output.join().unwrap_or_default()),
            false => {
                let errors = errors.join().unwrap_or_default();
                let name = arguments.iter().find(|word| !word.starts_with(['-', '/']));
                let name = name.unwrap_or(&"");
                Err(format!("git {name}: {}; check --git and --commit", find_reason(&errors)))
            }
        }
    }
}

/// The line in which git says why it failed; the others are progress and advice.
fn find_reason(errors: &str) -> &str {
    let mut lines = errors.lines().map(str::trim).filter(|line| !line.is_empty());
    let fatal = lines.clone().find_map(|line| line.strip_prefix("fatal: "));
    fatal.or_else(|| lines.next_back()).unwrap_or("it does not say why")
}

/// The leader of a process group, which is killed on drop.
struct CheckoutProcessGroup(Child);

impl Drop for CheckoutProcessGroup {
    fn drop(&mut self) {
        // Only if it was not reaped yet, since its pid may have been reused.
        if let Ok(None) = self.0.try_wait() {
            let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
            let _ = self.0.wait();
        }
    }
}

/// Keeps the beginning of the output; the rest is read and discarded, so that git does not block.
fn spawn_reader(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(OUTPUT_BYTES_MAX).read_to_end(&mut text);
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        }
        String::from_utf8_lossy(&text).into_owned()
    })
}

fn cancelled() -> String {
    "it is not waited for any more".to_owned()
}

const GIT_TIMEOUT: Duration = Duration::from_secs(600);
const GIT_POLL: Duration = Duration::from_millis(20);
const OUTPUT_BYTES_MAX: u64 = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrors_are_removed_when_nothing_used_them_for_long() {
        let folder = tempfile::tempdir().unwrap();
        let old = std::time::SystemTime::now() - Duration::from_secs(1000);
        let mut locks = Vec::new();
        for name in ["old", "held", "new"] {
            std::fs::create_dir(folder.path().join(format!("{name}.git"))).unwrap();
            let lock = std::fs::File::create(folder.path().join(format!("{name}.lock"))).unwrap();
            lock.set_modified(if name == "new" { old + Duration::from_secs(999) } else { old })
                .unwrap();
            locks.push(lock);
        }
        locks[1].lock().unwrap();
        assert_eq!(remove_unused_repositories(folder.path(), Duration::from_secs(100)), 1);
        let is_there = |name: &str| folder.path().join(name).exists();
        assert!(!is_there("old.git") && is_there("held.git") && is_there("new.git"));
    }
}
