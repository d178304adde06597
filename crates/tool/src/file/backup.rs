//! Backs up the content of a file before a tool changes it.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Stores the content of files before our tools change them, so that changes can be undone.
pub trait FileBackupStore: core::fmt::Debug + Send + Sync {
    /// Called before a file is changed, or created if `before` is `None`. When it returns, the
    /// change may be made. Blocks.
    ///
    /// # Errors
    ///
    /// Why the change must not be made, as a message.
    fn back_up(&self, change: &PendingFileChange<'_>) -> Result<(), String>;
}

#[derive(Clone, Copy, Debug)]
pub struct PendingFileChange<'a> {
    pub path: &'a Path,
    /// The current content; `None` if the file does not exist.
    pub before: Option<&'a [u8]>,
    pub after: &'a [u8],
    pub mode: Option<u32>,
}

/// Reads the content of a file right before it is replaced. The caller checked the file when it
/// opened it earlier.
pub(super) fn read_current_content(
    directory: &OwnedFd,
    name: &std::ffi::OsStr,
) -> std::io::Result<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(directory, name, flags, Mode::empty())?);
    let mut bytes = Vec::new();
    file.take(BACKUP_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// No tool of ours changes larger files.
const BACKUP_BYTES_MAX: u64 = 1 << 30;
