//! Changes a file atomically: under a lock, through a new file that is renamed over the old one.
//!
//! The lock is on the folder, so no lock file is left behind. It is advisory: a program that does not
//! take it is not blocked, and at worst one of the two edits is lost.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::bounded_file;
use crate::settings_write_error::SettingsWriteError;

#[derive(Clone, Copy, Debug)]
pub(crate) struct AtomicEdit<'a> {
    pub(crate) path: &'a Path,
    /// The mode of a new file; an existing one keeps its mode.
    pub(crate) mode: u32,
    /// Where the last valid version is kept.
    pub(crate) backup: Option<&'a Path>,
}

impl AtomicEdit<'_> {
    /// Reads, changes and writes the file under the lock. Writes nothing if `change` returns
    /// `None`.
    pub(crate) fn apply(
        self,
        change: impl FnOnce(Option<&str>) -> Result<Option<String>, SettingsWriteError>,
    ) -> Result<(), SettingsWriteError> {
        let failed = |error: std::io::Error| SettingsWriteError::new(self.path, error);
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let private = self.mode & 0o077 == 0;
        let rights = if private { 0o700 } else { 0o777 };
        fs::DirBuilder::new().recursive(true).mode(rights).create(folder).map_err(failed)?;
        let folder = File::open(folder).map_err(failed)?;
        self.lock(&folder)?;
        let old = bounded_file::read_bounded(self.path)
            .map_err(|why| SettingsWriteError::new(self.path, why))?;
        let Some(new) = change(old.as_deref())? else { return Ok(()) };
        if let (Some(old), Some(copy)) = (&old, self.backup) {
            self.replace(copy, old, 0o600)?;
        }
        let rights =
            self.path.metadata().map_or(self.mode, |metadata| metadata.permissions().mode());
        self.replace(self.path, &new, rights & 0o777)?;
        folder.sync_all().map_err(failed)
    }

    fn lock(&self, folder: &File) -> Result<(), SettingsWriteError> {
        let deadline = Instant::now() + LOCK_WAIT;
        loop {
            match flock(folder, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(()),
                Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < deadline => {
                    thread::sleep(LOOK_AGAIN);
                }
                Err(Errno::WOULDBLOCK) => {
                    return Err(SettingsWriteError::new(
                        self.path,
                        "another program is writing there",
                    ));
                }
                Err(error) => return Err(SettingsWriteError::new(self.path, error)),
            }
        }
    }

    /// The new file must be on disk before it gets the final name.
    fn replace(&self, path: &Path, text: &str, rights: u32) -> Result<(), SettingsWriteError> {
        let failed = |error: std::io::Error| SettingsWriteError::new(path, error);
        if let Some(folder) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        }
        let (mut file, temporary) = create_temporary(path).map_err(failed)?;
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| file.set_permissions(Permissions::from_mode(rights)))
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&temporary, path));
        written.map_err(|error| {
            // The first error is already reported.
            let _ = fs::remove_file(&temporary);
            failed(error)
        })
    }
}

/// Creates a new file beside another.
fn create_temporary(path: &Path) -> std::io::Result<(File, PathBuf)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut number = 0_u32;
    loop {
        let temporary = path.with_file_name(format!(".{name}.{}-{number}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary) {
            Ok(file) => return Ok((file, temporary)),
            // Left by a killed process with the same id.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists && number < 100 => {
                number += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

const LOCK_WAIT: Duration = Duration::from_secs(20);
const LOOK_AGAIN: Duration = Duration::from_millis(5);
