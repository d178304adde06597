//! An empty directory that stands for a protected one that does not exist, so that a mount can hold it.
//!
//! Made for a command that goes on running, removed when the last sandbox that needs it is gone. Git
//! does not list empty directories, and the user may put files there meanwhile: then it stays. The sticky
//! bit marks it, so that one that a killed process left behind is known and removed by the next; a
//! lock on the directory tells those in use, also by other processes.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd as _, OwnedFd};

use rustix::fs::{AtFlags, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

/// As `mkdir` makes them, with the mark.
const MARKED_MODE: u32 = 0o1755;
const STICKY: u32 = 0o1000;

/// Another process may remove it while we take hold of it.
const TRIES: usize = 5;

#[derive(Debug)]
pub(super) struct DirectoryPlaceholder {
    parent: OwnedFd,
    name: OsString,
    /// Open and locked as long as a sandbox needs it.
    directory: OwnedFd,
}

impl DirectoryPlaceholder {
    /// Takes hold of the placeholder of this name, or makes one where nothing is and one is wanted.
    /// `None` when the name belongs to something else, or to nothing.
    pub(super) fn hold(
        parent: &OwnedFd,
        name: &OsStr,
        may_create: bool,
    ) -> rustix::io::Result<Option<Self>> {
        for _ in 0..TRIES {
            match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) if is_placeholder(&stat) => {}
                Ok(_) => return Ok(None),
                Err(Errno::NOENT) if may_create => {
                    match rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(MARKED_MODE)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(error),
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
                let parent = rustix::io::fcntl_dupfd_cloexec(parent.as_fd(), 0)?;
                return Ok(Some(Self { parent, name: name.to_os_string(), directory }));
            }
        }
        Err(Errno::BUSY)
    }

    pub(super) fn name(&self) -> &str {
        self.name.to_str().unwrap_or_default()
    }
}

impl Drop for DirectoryPlaceholder {
    fn drop(&mut self) {
        // Whoever else holds it removes it later.
        if rustix::fs::flock(&self.directory, FlockOperation::NonBlockingLockExclusive).is_err() {
            return;
        }
        if !is_still_there(&self.parent, &self.name, &self.directory) {
            return;
        }
        let removed = rustix::fs::unlinkat(&self.parent, &self.name, AtFlags::REMOVEDIR);
        if matches!(removed, Err(Errno::NOTEMPTY | Errno::EXIST))
            && let Ok(stat) = rustix::fs::fstat(&self.directory)
        {
            // It is the user's now.
            let mode = Mode::from_raw_mode(stat.st_mode & 0o7777 & !STICKY);
            let _ = rustix::fs::fchmod(&self.directory, mode);
        }
    }
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
