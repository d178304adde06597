//! The disk of this machine.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use super::{Access, Disk, DiskFile};

/// The disk of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, path: &Path, access: Access) -> io::Result<Box<dyn DiskFile>> {
        let mut options = OpenOptions::new();
        options.read(true).mode(0o600);
        match access {
            Access::Read => {}
            Access::Append => drop(options.append(true).create(true)),
            Access::New => drop(options.append(true).create_new(true)),
        }
        Ok(Box::new(RealFile(Arc::new(options.open(path)?))))
    }

    fn is_there(&self, path: &Path) -> bool {
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
struct RealFile(Arc<File>);

impl Read for RealFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(buffer)
    }
}

impl DiskFile for RealFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.is_still_there()?;
        (&*self.0).write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn twin(&self) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(Self(Arc::clone(&self.0))))
    }

    fn set_len(&mut self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn try_lock(&mut self) -> Result<(), TryLockError> {
        self.0.try_lock()?;
        // Somebody may have deleted it between our opening and our locking it.
        self.is_still_there().map_err(TryLockError::Error)
    }
}

impl RealFile {
    /// A file without a name takes whatever is written to it, and nobody will ever read it.
    fn is_still_there(&self) -> io::Result<()> {
        match self.0.metadata()?.nlink() {
            0 => Err(io::Error::new(io::ErrorKind::NotFound, "the file was deleted")),
            _ => Ok(()),
        }
    }
}
