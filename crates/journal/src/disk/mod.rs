//! The file operations that a journal needs.
//!
//! A trait, so that the same writer runs on a real disk and on a simulated one, which can enumerate
//! the states that a power loss could leave.

mod real_disk;
mod relayed_disk;

use core::fmt;
use std::fs::TryLockError;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub use real_disk::RealDisk;
pub(crate) use real_disk::open_regular;
pub use relayed_disk::{RELAY_GREETING, RelayReply, RelayRequest, RelayedDisk};

pub trait JournalDisk: fmt::Debug + Send + Sync {
    /// Opens a file.
    fn open(&self, path: &Path, access: DiskOpenMode) -> io::Result<Box<dyn DiskFile>>;

    fn exists(&self, path: &Path) -> bool;

    /// Makes the directory entry of this file durable.
    fn sync_directory_of(&self, path: &Path) -> io::Result<()>;

    /// Renames a file, and replaces an existing one.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskOpenMode {
    Read,
    /// For reading from the start and appending. Created if it does not exist, with access for this
    /// user only.
    Append,
    /// As `Append`, but fails if it does not exist.
    AppendExisting,
    /// As `Append`, but fails if it exists.
    New,
}

/// What another program did to an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalFileChange {
    Deleted,
    /// The file or a folder above it was renamed or deleted.
    Moved,
    /// Another file is at its path.
    Replaced,
    Cut,
    /// Something was appended after our last record.
    Extended {
        length: u64,
    },
}

/// An open file. Dropping it releases its lock.
pub trait DiskFile: Read + fmt::Debug + Send + Sync {
    /// Appends all bytes.
    ///
    /// # Errors
    ///
    /// The disk fails; part of the bytes may have been written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Returns when everything written is on the disk.
    ///
    /// # Errors
    ///
    /// The disk fails. Everything written since the last success is then lost for good, even if a
    /// second call succeeds, because the kernel may have dropped it.
    fn sync(&mut self) -> io::Result<()>;

    /// A second handle of the same open file, so that one thread can sync while another writes.
    fn try_clone(&self) -> io::Result<Box<dyn DiskFile>>;

    fn set_len(&mut self, length: u64) -> io::Result<()>;

    /// Checks that this is still the file at its path. The default is for disks without other
    /// programs.
    ///
    /// # Errors
    ///
    /// Another program deleted, moved, replaced, truncated or extended the file.
    fn check_in_place(&self, _path: &Path, _length: Option<u64>) -> Result<(), JournalFileChange> {
        Ok(())
    }

    /// Locks the file against other writers, as long as it is open.
    fn try_lock(&mut self) -> Result<(), TryLockError>;
}

/// Replaces a file atomically: writes a temporary file, syncs, renames, syncs.
///
/// # Errors
///
/// The disk fails. The old file is then unchanged.
pub fn replace_file(disk: &dyn JournalDisk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = append_suffix(path, "new");
    let mut file = match disk.open(&temporary, DiskOpenMode::New) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // Truncate: the file may be left from a process that was killed here.
            let mut file = disk.open(&temporary, DiskOpenMode::Append)?;
            file.set_len(0)?;
            file
        }
        opened => opened?,
    };
    file.append(bytes)?;
    file.sync()?;
    drop(file);
    disk.rename(&temporary, path)?;
    disk.sync_directory_of(path)
}

/// Appends a dot and a suffix to the whole name.
pub(crate) fn append_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}
