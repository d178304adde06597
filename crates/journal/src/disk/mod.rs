//! The few things a journal asks of a disk.
//!
//! A trait, so that the same writer runs on a real disk and on one that remembers what it was asked
//! and can say in which states a loss of power could leave it.

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

    /// Makes the entries of the directory in which this file lies durable.
    fn sync_directory_of(&self, path: &Path) -> io::Result<()>;

    /// Gives a file another name, in place of what has that name now.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskOpenMode {
    Read,
    /// Reading from the start and writing at the end. Made if it is not there, for this user only.
    Append,
    /// As `Append`, but it must be there already.
    AppendExisting,
    /// As `Append`, but it must not be there yet.
    New,
}

/// What another program did to a file that is open here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalFileChange {
    Deleted,
    /// Nothing stands at its path any more: it or a folder above it has another name.
    Moved,
    /// Another file stands at its path.
    Replaced,
    Cut,
    /// Something was written behind our last record.
    Extended {
        length: u64,
    },
}

/// An open file. Dropping it gives its lock up.
pub trait DiskFile: Read + fmt::Debug + Send + Sync {
    /// Writes all of this at the end.
    ///
    /// # Errors
    ///
    /// When the disk fails; part of it may have been written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Returns when what was written is on the disk.
    ///
    /// # Errors
    ///
    /// When the disk fails. What was written since the last success is then lost for good, even if a
    /// second call succeeds.
    fn sync(&mut self) -> io::Result<()>;

    /// The same open file once more, so that one thread can wait for the disk while another writes.
    fn try_clone(&self) -> io::Result<Box<dyn DiskFile>>;

    /// Cuts the file.
    fn set_len(&mut self, length: u64) -> io::Result<()>;

    /// Checks that this is still the file at its path. A disk without other programs has nothing to check.
    ///
    /// # Errors
    ///
    /// When another program deleted, moved, replaced, cut or extended it.
    fn check_in_place(&self, _path: &Path, _length: Option<u64>) -> Result<(), JournalFileChange> {
        Ok(())
    }

    /// Keeps other writers out as long as the file is open.
    fn try_lock(&mut self) -> Result<(), TryLockError>;
}

/// Puts a whole file in place, or leaves the old one: temporary file, sync, rename, sync.
///
/// # Errors
///
/// When the disk fails. The old file is then untouched.
pub fn replace_file(disk: &dyn JournalDisk, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = append_suffix(path, "new");
    let mut file = match disk.open(&temporary, DiskOpenMode::New) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // Left over from a process that died here.
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

/// The path with a dot and a suffix after its whole name.
pub(crate) fn append_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(suffix);
    PathBuf::from(name)
}
