//! The disk of this machine.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::OFlags;

use super::{DiskFile, DiskOpenMode, JournalDisk, JournalFileChange};

/// The disk of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl JournalDisk for RealDisk {
    fn open(&self, path: &Path, access: DiskOpenMode) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).mode(0o600);
        match access {
            DiskOpenMode::Read => {}
            DiskOpenMode::Append => drop(options.append(true).create(true)),
            DiskOpenMode::AppendExisting => drop(options.append(true)),
            DiskOpenMode::New => drop(options.append(true).create_new(true)),
        }
        Ok(Box::new(RealDiskFile(Arc::new(options.open(path)?))))
    }

    fn exists(&self, path: &Path) -> bool {
        path.symlink_metadata().is_ok()
    }

    fn sync_directory_of(&self, path: &Path) -> io::Result<()> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }
}

#[derive(Debug)]
struct RealDiskFile(Arc<File>);

impl Read for RealDiskFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(buffer)
    }
}

impl DiskFile for RealDiskFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.check_not_deleted()?;
        (&*self.0).write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn try_clone(&self) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(Self(Arc::clone(&self.0))))
    }

    fn set_len(&mut self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn check_in_place(&self, path: &Path, length: Option<u64>) -> Result<(), JournalFileChange> {
        // If the metadata cannot be read, the following write reports the error.
        let Ok(own) = self.0.metadata() else { return Ok(()) };
        match path.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(match own.nlink() {
                    0 => JournalFileChange::Deleted,
                    _ => JournalFileChange::Moved,
                });
            }
            Err(_) => {}
            Ok(named) if (named.dev(), named.ino()) != (own.dev(), own.ino()) => {
                return Err(JournalFileChange::Replaced);
            }
            Ok(_) => {}
        }
        match length {
            Some(length) if own.len() < length => Err(JournalFileChange::Cut),
            Some(length) if own.len() > length => {
                Err(JournalFileChange::Extended { length: own.len() })
            }
            Some(_) | None => Ok(()),
        }
    }

    fn try_lock(&mut self) -> Result<(), TryLockError> {
        self.0.try_lock()?;
        // Another process may have deleted it between opening and locking.
        self.check_not_deleted().map_err(TryLockError::Error)
    }
}

impl RealDiskFile {
    /// A deleted file accepts writes that no process can read later.
    fn check_not_deleted(&self) -> io::Result<()> {
        match self.0.metadata()?.nlink() {
            0 => Err(io::Error::new(io::ErrorKind::NotFound, "the file was deleted")),
            _ => Ok(()),
        }
    }
}

/// Opens a file for reading, but only a regular one: opening a pipe would block, and a device can
/// be read without end.
pub(crate) fn open_regular(path: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}
