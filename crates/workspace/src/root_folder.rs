//! Access to files below the root through folder handles: follows no symlink and enters no mount.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat};
use rustix::io::Errno;

use crate::digest::ContentDigest;
use crate::error::WorkspaceError;
use crate::folder_record::MODE_MASK;
use crate::path_image::{PathImage, UncoveredReason, UncoveredStamp};
use crate::raw_stat::{device_of, mode_of};
use crate::relative_path::RelativePath;

/// Prefix of temporary files that a restore writes next to its targets. Looks skip them meanwhile.
pub(crate) const TEMPORARY_PREFIX: &[u8] = b".windlass-restore-";

#[derive(Debug)]
pub(crate) struct RootFolder {
    pub(crate) path: PathBuf,
    pub(crate) handle: OwnedFd,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// On an overlay, files may report the device of their layer.
    pub(crate) is_overlay: bool,
}

/// The metadata that changes when the bytes of a file change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileStamp {
    pub(crate) modified_seconds: i64,
    pub(crate) modified_nanos: u32,
    pub(crate) changed_seconds: i64,
    pub(crate) changed_nanos: u32,
    pub(crate) size: u64,
    pub(crate) inode: u64,
    pub(crate) mode: u32,
}

impl RootFolder {
    pub(crate) fn open(path: &Path) -> Result<Self, WorkspaceError> {
        let path =
            path.canonicalize().map_err(|error| WorkspaceError::disk("open", path, error))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle =
            rustix::fs::open(&path, flags, Mode::empty()).map_err(|error| match error {
                Errno::NOTDIR => WorkspaceError::RootIsNoFolder(path.clone()),
                error => WorkspaceError::disk("open", &path, error),
            })?;
        let stat = fstat(&handle).map_err(|error| WorkspaceError::disk("open", &path, error))?;
        let is_overlay = is_overlay(&handle);
        Ok(Self { device: device_of(&stat), inode: stat.st_ino, path, handle, is_overlay })
    }

    /// Opens a folder part by part, so that a symlink planted on the way is refused.
    pub(crate) fn open_folder(&self, path: &RelativePath) -> io::Result<OwnedFd> {
        let mut folder = self.handle.try_clone()?;
        for part in path.parts() {
            folder = open_child_folder(&folder, part)?;
            if device_of(&fstat(&folder)?) != self.device {
                return Err(Errno::XDEV.into());
            }
        }
        Ok(folder)
    }

    /// Opens a folder outside the root.
    pub(crate) fn open_plain(path: &Path) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(rustix::fs::open(path, flags, Mode::empty())?)
    }

    /// Returns once everything written to the root's file system so far is on disk.
    pub(crate) fn sync_file_system(&self) -> Result<(), WorkspaceError> {
        sync_file_system_of(&self.handle)
            .map_err(|error| WorkspaceError::disk("write", &self.path, error))
    }
}

#[cfg(target_os = "linux")]
fn sync_file_system_of(folder: &OwnedFd) -> io::Result<()> {
    Ok(rustix::fs::syncfs(folder)?)
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system_of(_folder: &OwnedFd) -> io::Result<()> {
    rustix::fs::sync();
    Ok(())
}

/// Clones the blocks of a whole file; false if the file system does not support it.
#[cfg(target_os = "linux")]
pub(crate) fn clone_blocks(to: &File, from: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn clone_blocks(_to: &File, _from: &File) -> bool {
    false
}

#[cfg(target_os = "linux")]
fn is_overlay(folder: &OwnedFd) -> bool {
    const OVERLAY: u64 = 0x794c_7630;
    rustix::fs::fstatfs(folder)
        .is_ok_and(|system| system.f_type.cast_unsigned() & 0xffff_ffff == OVERLAY)
}

#[cfg(not(target_os = "linux"))]
fn is_overlay(_folder: &OwnedFd) -> bool {
    false
}

pub(crate) fn open_child_folder(parent: impl AsFd, name: &[u8]) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(parent, name, flags, Mode::empty())?)
}

/// Opens a regular file. A fifo does not block, and a symlink is refused.
pub(crate) fn open_child_file(parent: impl AsFd, name: &[u8]) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(parent, name, flags, Mode::empty())?;
    match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file.into()),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// `None` if the name does not exist.
pub(crate) fn stat_child(parent: impl AsFd, name: &[u8]) -> io::Result<Option<Stat>> {
    match statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Reads a whole file; `None` when it is missing, not a regular file, or larger than `limit`.
pub(crate) fn read_small_file(parent: impl AsFd, name: &[u8], limit: u64) -> Option<Vec<u8>> {
    let file = open_child_file(parent, name).ok()?;
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= limit).then_some(bytes)
}

/// The current image of a name. Files larger than `limit` are not read.
pub(crate) fn read_image(parent: impl AsFd, name: &[u8], limit: u64) -> io::Result<PathImage> {
    let Some(stat) = stat_child(&parent, name)? else { return Ok(PathImage::Absent) };
    let stamp = FileStamp::from(&stat);
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => PathImage::Folder { mode: stamp.mode & MODE_MASK },
        FileType::Symlink => {
            PathImage::Link { target: readlinkat(&parent, name, Vec::new())?.into_bytes() }
        }
        FileType::RegularFile if stamp.size <= limit => {
            let mut bytes = Vec::new();
            let file = open_child_file(&parent, name)?;
            (&file).take(limit + 1).read_to_end(&mut bytes)?;
            PathImage::File {
                content: ContentDigest::of(&bytes),
                size: bytes.len() as u64,
                mode: mode_of(&fstat(&file)?) & MODE_MASK,
                is_ignored: false,
            }
        }
        FileType::RegularFile => PathImage::Uncovered {
            reason: UncoveredReason::TooLarge,
            stamp: stamp.to_uncovered_stamp(),
        },
        _ => PathImage::Uncovered {
            reason: UncoveredReason::NotPlain,
            stamp: UncoveredStamp::default(),
        },
    })
}

impl FileStamp {
    pub(crate) fn to_uncovered_stamp(self) -> UncoveredStamp {
        UncoveredStamp {
            size: self.size,
            modified_seconds: self.modified_seconds,
            modified_nanos: self.modified_nanos,
        }
    }
}

impl From<&Stat> for FileStamp {
    fn from(stat: &Stat) -> Self {
        Self {
            modified_seconds: stat.st_mtime,
            modified_nanos: stat.st_mtime_nsec as u32,
            changed_seconds: stat.st_ctime,
            changed_nanos: stat.st_ctime_nsec as u32,
            size: stat.st_size.cast_unsigned(),
            inode: stat.st_ino,
            mode: mode_of(stat),
        }
    }
}
