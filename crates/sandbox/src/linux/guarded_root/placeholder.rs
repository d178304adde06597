//! An empty directory in place of a missing protected name, so that a mount can protect it.
//!
//! Removed when the last sandbox that needs it has ended. Git ignores empty directories. If the
//! user creates files in it meanwhile, it stays. The sticky bit marks it, so that one left by a
//! killed process is recognized and removed by the next one; a lock on the directory marks it as in
//! use, even by other processes.
//!
//! Creating a directory takes ten times as long as renaming one, so unused ones wait in a directory
//! of ours for the next command.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rustix::fs::{AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::lock;

/// The usual mode with the mark.
const MARKED_MODE: u32 = 0o1755;
const STICKY: u32 = 0o1000;

/// Another process may remove it while we lock it.
const TRIES: usize = 5;

/// Limit on waiting directories. A command needs fewer, but several may return theirs.
const WAITING_MAX: usize = 64;

#[derive(Debug)]
pub(super) struct DirectoryPlaceholder {
    parent: OwnedFd,
    name: OsString,
    /// Open and locked while a sandbox needs it. `None` after it was returned.
    directory: Option<OwnedFd>,
    /// It was just created, so it is empty.
    is_new: bool,
    pool: Arc<PlaceholderPool>,
}

/// A pool of empty directories.
#[derive(Debug, Default)]
pub(super) struct PlaceholderPool {
    waiting: Mutex<WaitingDirectories>,
}

#[derive(Debug, Default)]
struct WaitingDirectories {
    /// Created when first needed, where sandboxed commands cannot see it.
    place: Option<WaitingPlace>,
    directories: Vec<WaitingDirectory>,
    named: u64,
}

#[derive(Debug)]
struct WaitingPlace {
    path: PathBuf,
    opened: OwnedFd,
}

/// Open and locked already, so that it does not look like one left behind.
#[derive(Debug)]
struct WaitingDirectory {
    name: String,
    opened: OwnedFd,
}

impl DirectoryPlaceholder {
    /// Locks the placeholder with this name, or creates one if nothing exists and `may_create`.
    /// `None` if the name exists otherwise, or is missing.
    pub(super) fn hold(
        pool: &Arc<PlaceholderPool>,
        parent: &OwnedFd,
        name: &OsStr,
        may_create: bool,
    ) -> rustix::io::Result<Option<Self>> {
        let holding = |directory, is_new| -> rustix::io::Result<Option<Self>> {
            let parent = rustix::io::fcntl_dupfd_cloexec(parent.as_fd(), 0)?;
            let name = name.to_os_string();
            let pool = Arc::clone(pool);
            Ok(Some(Self { parent, name, directory: Some(directory), is_new, pool }))
        };
        for _ in 0..TRIES {
            match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if is_placeholder(&stat) => {}
                Ok(_) => return Ok(None),
                Err(Errno::NOENT) if may_create => {
                    if let Some(directory) = pool.put(parent, name) {
                        return holding(directory, true);
                    }
                    match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(MARKED_MODE)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        // What we cannot create, the command probably cannot either; it is compared
                        // at the end.
                        Err(_) => return Ok(None),
                    }
                }
                Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
                Err(error) => return Err(error),
            }
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let Ok(directory) = rustix::fs::openat(parent, name, flags, Mode::empty()) else {
                continue;
            };
            let is_locked =
                rustix::fs::flock(&directory, FlockOperation::NonBlockingLockShared).is_ok();
            if is_locked && is_still_there(parent, name, &directory) {
                return holding(directory, false);
            }
        }
        Err(Errno::BUSY)
    }

    pub(super) fn name(&self) -> &str {
        self.name.to_str().unwrap_or_default()
    }

    /// Is it still empty?
    pub(super) fn is_empty(&self) -> bool {
        self.is_new || self.directory.as_ref().is_some_and(is_empty)
    }
}

impl Drop for DirectoryPlaceholder {
    fn drop(&mut self) {
        let Some(directory) = self.directory.take() else {
            return;
        };
        // Another holder will remove it.
        if rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive).is_err() {
            return;
        }
        if !is_still_there(&self.parent, &self.name, &directory) {
            return;
        }
        if !is_empty(&directory) {
            // It belongs to the user now.
            if let Ok(stat) = rustix::fs::fstat(&directory) {
                let mode = Mode::from_raw_mode(stat.st_mode & 0o7777 & !STICKY);
                let _ = rustix::fs::fchmod(&directory, mode);
            }
            return;
        }
        if let Some(directory) = self.pool.take_back(&self.parent, &self.name, directory) {
            let _ = rustix::fs::unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR);
            drop(directory);
        }
    }
}

impl PlaceholderPool {
    /// Moves a waiting directory to a free name. `None` if there is none, or it cannot be moved.
    fn put(&self, parent: &OwnedFd, name: &OsStr) -> Option<OwnedFd> {
        let mut waiting = lock(&self.waiting);
        let WaitingDirectories { place, directories, .. } = &mut *waiting;
        let place = place.as_ref()?;
        let directory = directories.pop()?;
        let from = &place.opened;
        let moved =
            rustix::fs::renameat_with(from, &directory.name, parent, name, RenameFlags::NOREPLACE);
        match moved {
            Ok(()) => Some(directory.opened),
            Err(_) => {
                directories.push(directory);
                None
            }
        }
    }

    /// Moves an empty directory back to the pool. Returns it if that is not possible.
    fn take_back(&self, parent: &OwnedFd, name: &OsStr, opened: OwnedFd) -> Option<OwnedFd> {
        let mut waiting = lock(&self.waiting);
        if waiting.directories.len() >= WAITING_MAX {
            return Some(opened);
        }
        if waiting.place.is_none() {
            waiting.place = WaitingPlace::create();
        }
        let WaitingDirectories { place, directories, named } = &mut *waiting;
        let Some(place) = place.as_ref().map(|place| &place.opened) else {
            return Some(opened);
        };
        *named += 1;
        let own = named.to_string();
        let flags = RenameFlags::NOREPLACE;
        if rustix::fs::renameat_with(parent, name, place, &own, flags).is_err() {
            // Probably on another file system.
            return Some(opened);
        }
        if !is_empty(&opened) {
            // The user has just created something in it, so move it back.
            let _ = rustix::fs::renameat_with(place, &own, parent, name, flags);
            return None;
        }
        if rustix::fs::flock(&opened, FlockOperation::NonBlockingLockShared).is_ok() {
            directories.push(WaitingDirectory { name: own, opened });
        }
        None
    }
}

impl WaitingPlace {
    fn create() -> Option<Self> {
        let path = crate::linux::create_private_directory().ok()?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(CWD, &path, flags, Mode::empty()).ok()?;
        Some(Self { path, opened })
    }
}

impl Drop for WaitingPlace {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn is_empty(directory: &OwnedFd) -> bool {
    let is_self = |name: &[u8]| name == b"." || name == b"..";
    Dir::read_from(directory).is_ok_and(|mut entries| {
        entries.all(|entry| entry.is_ok_and(|entry| is_self(entry.file_name().to_bytes())))
    })
}

/// Is there one of our placeholders at this path?
pub(super) fn is_placeholder_at(root: &OwnedFd, path: &std::path::Path) -> bool {
    let stat = rustix::fs::statat(root, path, AtFlags::SYMLINK_NOFOLLOW);
    stat.is_ok_and(|stat| is_placeholder(&stat))
}

fn is_placeholder(stat: &rustix::fs::Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
        && stat.st_mode & STICKY != 0
        && stat.st_uid == rustix::process::geteuid().as_raw()
}

fn is_still_there(parent: &OwnedFd, name: &OsStr, directory: &OwnedFd) -> bool {
    let there = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
    let (Ok(there), Ok(open)) = (there, rustix::fs::fstat(directory)) else { return false };
    (there.st_dev, there.st_ino) == (open.st_dev, open.st_ino)
}
