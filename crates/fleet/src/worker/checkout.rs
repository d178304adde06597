//! Checks out a repository through a bare mirror that all sessions of this host share.

use std::fs::TryLockError;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use windlass_workspace::CancelFlag;

use super::git_call::{GIT_POLL, GIT_TIMEOUT, GitCall, cancelled};
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
    let bare = mirror_path(repositories, &spec.git);
    let git = |directory: &Path, protocol: &'static str| GitCall {
        directory: directory.to_owned(),
        protocol,
        cancel: cancel.clone(),
    };
    let remote = git(repositories, spec.protocol());
    // Sessions of the same repository must not fetch concurrently.
    let lock = wait_for_lock(&bare.with_extension("lock"), cancel)?;
    let bare_text = bare.to_string_lossy().into_owned();
    if bare.join("HEAD").is_file() {
        let refs = "+refs/*:refs/*";
        remote.run(&["--git-dir", &bare_text, "fetch", "--prune", "origin", refs])?;
    } else {
        let partial = bare.with_extension("partial");
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

/// Where the mirror of a repository is.
pub(crate) fn mirror_path(repositories: &Path, url: &str) -> PathBuf {
    let digest = ring::digest::digest(&ring::digest::SHA256, url.as_bytes());
    repositories.join(format!("{}.git", windlass_vocabulary::to_hex(digest.as_ref())))
}

/// Waits for the lock of a mirror, which is held while it is changed.
pub(crate) fn wait_for_lock(path: &Path, cancel: &CancelFlag) -> Result<std::fs::File, String> {
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
