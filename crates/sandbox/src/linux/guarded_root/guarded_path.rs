//! Opens paths below a root through its descriptor, without following symlinks.

use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags};

use super::saved_entry::{CaptureBudget, SavedEntry};
use super::{FileIdentity, GuardMethod};
use crate::protected_names;

/// Opens a directory to access others; refuses a symlink.
pub(super) fn open_path(at: &impl AsFd, path: impl AsRef<Path>) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, path.as_ref(), flags, Mode::empty())
}

/// The directory that contains a path below a root, opened without following symlinks. `None` if it
/// does not exist.
pub(super) fn open_parent<'a>(
    root: &'a OwnedFd,
    path: &Path,
) -> rustix::io::Result<Option<GuardedParent<'a>>> {
    let parent = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => return Ok(Some(GuardedParent::Root(root))),
    };
    let opened = rustix::fs::openat2(
        root,
        parent,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    );
    match opened {
        Ok(parent) => Ok(Some(GuardedParent::Below(parent))),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Most guarded paths are in the root, which is open already.
pub(super) enum GuardedParent<'a> {
    Root(&'a OwnedFd),
    Below(OwnedFd),
}

impl AsFd for GuardedParent<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Root(root) => root.as_fd(),
            Self::Below(parent) => parent.as_fd(),
        }
    }
}

/// Has separate limits for each path, so that captures of the same content are equal.
pub(super) fn capture_path(
    root: &OwnedFd,
    path: &Path,
    method: GuardMethod,
) -> rustix::io::Result<SavedEntry> {
    let Some(name) = path.file_name() else {
        return Ok(SavedEntry::Absent);
    };
    let Some(parent) = open_parent(root, path)? else {
        return Ok(SavedEntry::Absent);
    };
    let Some(kind) = SavedEntry::read_kind(&parent, name)? else {
        return Ok(SavedEntry::Absent);
    };
    let is_mounted = match method {
        GuardMethod::Mounts | GuardMethod::MountsAndSupervisor => true,
        GuardMethod::Nothing => false,
    };
    if is_mounted && (kind.is_dir() || kind.is_file()) {
        return Ok(SavedEntry::Mounted);
    }
    let (outer, inner) = protected_names::WRITABLE_IN_PROTECTED;
    let spared = (Path::new(outer) == path).then(|| OsStr::new(inner));
    SavedEntry::capture(&parent, name, spared, &mut CaptureBudget::for_one_path())
}

pub(super) fn read_identity(root: &OwnedFd, path: &Path) -> Option<FileIdentity> {
    let stat = rustix::fs::statat(root, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

pub(super) fn is_bare(root: &OwnedFd) -> bool {
    ["HEAD", "objects", "refs"]
        .iter()
        .all(|name| matches!(SavedEntry::read_kind(&root.as_fd(), OsStr::new(name)), Ok(Some(_))))
}
