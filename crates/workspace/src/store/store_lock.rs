//! Locks of a store. Every user holds a shared lock; removing anything needs the exclusive lock.

use std::fs::File;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::WorkspaceError;

#[derive(Debug)]
pub(crate) struct StoreLock {
    path: PathBuf,
    file: File,
    is_exclusive: bool,
}

impl StoreLock {
    /// Takes the exclusive lock if the store is unused, else a shared one. Creates the store's
    /// folder if it is missing.
    pub(super) fn acquire(folder: &Path) -> Result<Self, WorkspaceError> {
        for _ in 0..REMOVED_TRIES {
            std::fs::create_dir_all(folder)
                .map_err(|error| WorkspaceError::disk("create", folder, error))?;
            let (file, path) = match open_lock_file(folder, LOCK_NAME) {
                // The folder was removed again in between.
                Err(WorkspaceError::Disk { error, .. }) if is_not_found(&error) => continue,
                opened => opened?,
            };
            let mut lock = Self { path, file, is_exclusive: false };
            lock.is_exclusive = lock.try_lock(FlockOperation::NonBlockingLockExclusive)?;
            if !lock.is_exclusive {
                lock.wait_shared()?;
            }
            if lock.is_in_place() {
                return Ok(lock);
            }
        }
        Err(WorkspaceError::InUse)
    }

    /// Whether the file still has its name. The process that held the lock may have removed the
    /// store meanwhile.
    fn is_in_place(&self) -> bool {
        let named = self.path.metadata();
        let own = self.file.metadata();
        let identify = |found: std::fs::Metadata| (found.dev(), found.ino());
        named.is_ok_and(|named| own.is_ok_and(|own| identify(named) == identify(own)))
    }

    pub(super) fn is_exclusive(&self) -> bool {
        self.is_exclusive
    }

    /// Downgrades to a shared lock.
    pub(super) fn share(&mut self) -> Result<(), WorkspaceError> {
        if std::mem::replace(&mut self.is_exclusive, false) {
            self.wait_shared()?;
        }
        Ok(())
    }

    /// Runs `work` under the exclusive lock; fails with `InUse` if another process holds the lock.
    pub(super) fn run_alone<T>(
        &self,
        work: impl FnOnce() -> Result<T, WorkspaceError>,
    ) -> Result<T, WorkspaceError> {
        // Converting an flock is not atomic and may lose it, so the shared lock is taken again in
        // any case.
        let is_alone = self.try_lock(FlockOperation::NonBlockingLockExclusive)?;
        let done = if is_alone { work() } else { Err(WorkspaceError::InUse) };
        self.wait_shared()?;
        done
    }

    /// The exclusive lock is held only while a store is opened or something is removed from it.
    fn wait_shared(&self) -> Result<(), WorkspaceError> {
        for _ in 0..LOCK_TRIES {
            if self.try_lock(FlockOperation::NonBlockingLockShared)? {
                return Ok(());
            }
            std::thread::sleep(LOCK_PAUSE);
        }
        Err(WorkspaceError::InUse)
    }

    fn try_lock(&self, operation: FlockOperation) -> Result<bool, WorkspaceError> {
        try_flock(&self.file, &self.path, operation)
    }
}

/// Held during a restore: only one process at a time restores.
#[derive(Debug)]
pub(crate) struct RestoreLock {
    _file: File,
}

impl RestoreLock {
    pub(crate) fn acquire(folder: &Path) -> Result<Self, WorkspaceError> {
        let (file, path) = open_lock_file(folder, RESTORE_LOCK_NAME)?;
        // A child process that is being started holds a copy of an earlier handle for a moment.
        for _ in 0..RESTORE_LOCK_TRIES {
            if try_flock(&file, &path, FlockOperation::NonBlockingLockExclusive)? {
                return Ok(Self { _file: file });
            }
            std::thread::sleep(LOCK_PAUSE);
        }
        Err(WorkspaceError::InUse)
    }
}

fn open_lock_file(folder: &Path, name: &str) -> Result<(File, PathBuf), WorkspaceError> {
    let path = folder.join(name);
    let opened = File::options().write(true).create(true).truncate(false).mode(0o600).open(&path);
    let file = opened.map_err(|error| WorkspaceError::disk("open", &path, error))?;
    Ok((file, path))
}

fn is_not_found(error: &std::io::Error) -> bool {
    error.kind() == std::io::ErrorKind::NotFound
}

fn try_flock(file: &File, path: &Path, operation: FlockOperation) -> Result<bool, WorkspaceError> {
    match flock(file, operation) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(WorkspaceError::disk("lock", path, error)),
    }
}

const LOCK_NAME: &str = "lock";
/// How often a store may be removed while it is opened.
const REMOVED_TRIES: usize = 100;
const RESTORE_LOCK_NAME: &str = "restore-lock";
const LOCK_PAUSE: Duration = Duration::from_millis(5);
/// With the pause, one second.
const RESTORE_LOCK_TRIES: usize = 200;
/// With the pause, ten seconds: longer than opening a large store takes.
const LOCK_TRIES: usize = 2_000;
