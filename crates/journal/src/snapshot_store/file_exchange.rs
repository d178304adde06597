//! Puts a file in the place of another, or takes it away, and checks afterwards what was there: what
//! another program saved in between is put back. Each step leaves the old or the new file, whole.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::SnapshotStore;
use super::change_log::FileImage;
use crate::digest::sha256_hex;
use crate::disk::{JournalDisk, RealDisk};

/// One file that is about to be restored.
pub(super) struct FileExchange<'a> {
    pub(super) store: &'a SnapshotStore,
    pub(super) path: &'a Path,
    /// What is there according to the plan.
    pub(super) expected: &'a FileImage,
}

/// The mode bits that come back: setuid, setgid and sticky never do.
const RESTORED_MODE: u32 = 0o777;

impl FileExchange<'_> {
    /// Returns whether these bytes are in place; if not, the file had changed.
    pub(super) fn put(&self, bytes: &[u8], mode: u32) -> io::Result<bool> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let temporary = self.name_temporary();
        if let Err(error) = write_synced(&temporary, bytes, mode) {
            let _ = fs::remove_file(&temporary);
            return Err(error);
        }
        let is_put = match self.expected {
            FileImage::Absent => self.place_new(&temporary)?,
            FileImage::Content(_) | FileImage::NotKept => self.exchange(&temporary, bytes)?,
        };
        RealDisk.sync_directory_of(self.path)?;
        Ok(is_put)
    }

    /// Returns whether the file is gone; if not, it had changed.
    pub(super) fn take_away(&self) -> io::Result<bool> {
        let aside = self.name_temporary();
        match rename_with(self.path, &aside, RenameFlags::NOREPLACE) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(true),
            Err(error) if is_unsupported(error) => {
                return match self.is_expected(self.path) {
                    true => fs::remove_file(self.path).map(|()| true),
                    false => Ok(false),
                };
            }
            Err(error) => return Err(error.into()),
        }
        if self.is_expected(&aside) {
            fs::remove_file(&aside)?;
            RealDisk.sync_directory_of(self.path)?;
            return Ok(true);
        }
        match rename_with(&aside, self.path, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(false),
            // A newer file is there already.
            Err(Errno::EXIST) => self.save_aside(&aside),
            Err(error) => Err(error.into()),
        }
    }

    fn place_new(&self, temporary: &Path) -> io::Result<bool> {
        let placed = match rename_with(temporary, self.path, RenameFlags::NOREPLACE) {
            Err(error) if is_unsupported(error) => {
                fs::hard_link(temporary, self.path).and_then(|()| fs::remove_file(temporary))
            }
            placed => placed.map_err(io::Error::from),
        };
        let Err(error) = placed else { return Ok(true) };
        fs::remove_file(temporary)?;
        match error.kind() {
            io::ErrorKind::AlreadyExists => Ok(false),
            _ => Err(error),
        }
    }

    fn exchange(&self, temporary: &Path, bytes: &[u8]) -> io::Result<bool> {
        match rename_with(temporary, self.path, RenameFlags::EXCHANGE) {
            Ok(()) => {}
            Err(Errno::NOENT) => return fs::remove_file(temporary).map(|()| false),
            Err(error) if is_unsupported(error) => {
                return match self.is_expected(self.path) {
                    true => fs::rename(temporary, self.path).map(|()| true),
                    false => fs::remove_file(temporary).map(|()| false),
                };
            }
            Err(error) => {
                fs::remove_file(temporary)?;
                return Err(error.into());
            }
        }
        if self.is_expected(temporary) {
            return fs::remove_file(temporary).map(|()| true);
        }
        self.exchange_back(temporary, bytes)
    }

    /// What came out is not what was planned. If another program has written to our file meanwhile,
    /// that newest version stays.
    fn exchange_back(&self, temporary: &Path, bytes: &[u8]) -> io::Result<bool> {
        let exchange = || rename_with(temporary, self.path, RenameFlags::EXCHANGE);
        if exchange().is_ok() {
            if self.store.inspect_file(temporary) == FileImage::Content(sha256_hex(bytes)) {
                return fs::remove_file(temporary).map(|()| false);
            }
            exchange()?;
        }
        self.save_aside(temporary)
    }

    /// Keeps another program's file that has lost its name.
    fn save_aside(&self, aside: &Path) -> io::Result<bool> {
        let mut saved = self.path.as_os_str().to_owned();
        saved.push(".windlass-saved");
        // If that name is taken, it stays where it is.
        let _ = rename_with(aside, Path::new(&saved), RenameFlags::NOREPLACE);
        Ok(false)
    }

    fn is_expected(&self, path: &Path) -> bool {
        self.store.inspect_file(path) == *self.expected
    }

    /// A name beside the file, in the form that snapshots leave out.
    fn name_temporary(&self) -> PathBuf {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        self.path.with_file_name(format!(".windlass-restore-{}-{number}", std::process::id()))
    }
}

fn rename_with(from: &Path, to: &Path, flags: RenameFlags) -> rustix::io::Result<()> {
    renameat_with(CWD, from, CWD, to, flags)
}

/// Some network file systems can only rename.
fn is_unsupported(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

fn write_synced(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file: File = options.write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.set_permissions(Permissions::from_mode(mode & RESTORED_MODE))?;
    file.sync_all()
}
