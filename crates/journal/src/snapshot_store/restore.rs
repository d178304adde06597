//! Restores files: each one atomically, and never over changes by another program unless the caller
//! allows it.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::change_log::FileImage;
use super::restore_plan::{PlannedRestore, RestoreStatus};
use super::{SnapshotStore, UpcomingFileChange};
use crate::disk::{JournalDisk, RealDisk};
use crate::error::JournalError;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RestoredFile {
    /// The content was restored.
    Written(PathBuf),
    /// The file was removed.
    Removed(PathBuf),
    /// The file was not changed, because of this status.
    Skipped(PathBuf, RestoreStatus),
}

impl SnapshotStore {
    /// Executes a plan. Files changed by others are left alone unless `overwrite` accepts them.
    /// Overwritten content is stored first, under `record`, so that the restore can be undone. A
    /// file that changed since the plan was made counts as changed by others.
    ///
    /// # Errors
    ///
    /// The disk fails. Files before the one that failed are restored.
    pub fn restore(
        &self,
        plan: &[PlannedRestore],
        record: u64,
        overwrite: impl Fn(&PlannedRestore) -> bool,
    ) -> Result<Vec<RestoredFile>, JournalError> {
        let mut done = Vec::new();
        for planned in plan {
            let may = match planned.status {
                RestoreStatus::Restorable => true,
                RestoreStatus::ChangedByOthers => overwrite(planned),
                RestoreStatus::AlreadyRestored | RestoreStatus::NotStored => false,
            };
            done.push(match may {
                true => self.restore_file(planned, record)?,
                false => RestoredFile::Skipped(planned.path.clone(), planned.status),
            });
        }
        Ok(done)
    }

    fn restore_file(
        &self,
        planned: &PlannedRestore,
        record: u64,
    ) -> Result<RestoredFile, JournalError> {
        let PlannedRestore { path, target, mode, current, .. } = planned;
        if self.inspect_file(path) != *current || *current == FileImage::NotKept {
            return Ok(RestoredFile::Skipped(path.clone(), RestoreStatus::ChangedByOthers));
        }
        let before = match current {
            FileImage::Content(_) => {
                Some(fs::read(path).map_err(JournalError::disk_error(path, "read"))?)
            }
            FileImage::Absent | FileImage::NotKept => None,
        };
        let after = match target {
            FileImage::Content(name) => {
                let blob = self.blob_path(name);
                Some(fs::read(&blob).map_err(JournalError::disk_error(&blob, "read"))?)
            }
            FileImage::Absent | FileImage::NotKept => None,
        };
        let current_mode =
            path.symlink_metadata().ok().map(|metadata| metadata.permissions().mode());
        let change = UpcomingFileChange {
            record,
            path,
            before: before.as_deref(),
            after: after.as_deref(),
            mode: current_mode,
        };
        self.save_before_change(&change)?;
        let failed = |error| JournalError::disk_error(path, "restored")(error);
        match after {
            Some(bytes) => {
                replace_with_mode(path, &bytes, mode.or(current_mode).unwrap_or(0o644))
                    .map_err(failed)?;
                Ok(RestoredFile::Written(path.clone()))
            }
            None => {
                fs::remove_file(path).map_err(failed)?;
                Ok(RestoredFile::Removed(path.clone()))
            }
        }
    }
}

/// Writes a new file beside the old one, and renames it.
fn replace_with_mode(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".{name}.{}.windlass", std::process::id()));
    let written = write_synced(&temporary, bytes, mode).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written?;
    RealDisk.sync_directory_of(path)
}

fn write_synced(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file: File = options.write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.set_permissions(Permissions::from_mode(mode & 0o7777))?;
    file.sync_all()
}
