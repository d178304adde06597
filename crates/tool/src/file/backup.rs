//! Backs up the content of a file before a tool changes it.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Keeps what files held before our tools change them, so that a change can be taken back.
pub trait FileBackupStore: core::fmt::Debug + Send + Sync {
    /// A file is about to be changed, or made if it held nothing. When this returns, the change may
    /// be made. Blocks.
    ///
    /// # Errors
    ///
    /// Why it must not be made, in words.
    fn back_up(&self, change: &PendingFileChange<'_>) -> Result<(), String>;
}

#[derive(Clone, Copy, Debug)]
pub struct PendingFileChange<'a> {
    pub path: &'a Path,
    /// What it holds now; nothing if it is not there.
    pub before: Option<&'a [u8]>,
    pub after: &'a [u8],
    pub mode: Option<u32>,
}

/// What a file of this directory holds. The caller opened it before; it is read
/// again right before it is replaced.
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

/// No tool of ours changes a file of this size.
const BACKUP_BYTES_MAX: u64 = 1 << 30;
