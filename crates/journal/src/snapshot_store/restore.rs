//! Restores files: each one atomically, and never over changes by another program unless the caller
//! allows it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::change_log::FileImage;
use super::file_exchange::FileExchange;
use super::restore_plan::{PlannedRestore, RestoreStatus};
use super::{SnapshotStore, UpcomingFileChange};
use crate::digest::sha256_hex;
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
        let number = self.lock_log().changes.len();
        for planned in plan {
            let may = match planned.status {
                RestoreStatus::Restorable => true,
                RestoreStatus::ChangedByOthers => overwrite(planned),
                RestoreStatus::AlreadyRestored | RestoreStatus::NotStored => false,
            };
            done.push(match may {
                true => self.restore_file(planned, record, number)?,
                false => RestoredFile::Skipped(planned.path.clone(), planned.status),
            });
        }
        Ok(done)
    }

    fn restore_file(
        &self,
        planned: &PlannedRestore,
        record: u64,
        rewind: usize,
    ) -> Result<RestoredFile, JournalError> {
        let PlannedRestore { path, target, mode, current, .. } = planned;
        if self.inspect_file(path) != *current || *current == FileImage::NotKept {
            return Ok(RestoredFile::Skipped(path.clone(), RestoreStatus::ChangedByOthers));
        }
        let read = |path: &Path| fs::read(path).map_err(JournalError::disk_error(path, "read"));
        let before = match current {
            FileImage::Content(_) => Some(read(path)?),
            FileImage::Absent | FileImage::NotKept => None,
        };
        let after = match target {
            FileImage::Content(name) => Some(read(&self.blob_path(name))?),
            FileImage::Absent | FileImage::NotKept => None,
        };
        let is_damaged = |bytes: &Vec<u8>| *target != FileImage::Content(sha256_hex(bytes));
        if after.as_ref().is_some_and(is_damaged) {
            return Ok(RestoredFile::Skipped(path.clone(), RestoreStatus::NotStored));
        }
        let current_mode =
            path.symlink_metadata().ok().map(|metadata| metadata.permissions().mode());
        let change = UpcomingFileChange {
            record,
            path,
            before: before.as_deref(),
            after: after.as_deref(),
            mode: current_mode,
        };
        self.save_change(&change, Some(rewind))?;
        let exchange = FileExchange { store: self, path, expected: current };
        let done = match &after {
            Some(bytes) => exchange.put(bytes, mode.or(current_mode).unwrap_or(0o644)),
            None => exchange.take_away(),
        };
        Ok(match (done.map_err(JournalError::disk_error(path, "restored"))?, after) {
            (true, Some(_)) => RestoredFile::Written(path.clone()),
            (true, None) => RestoredFile::Removed(path.clone()),
            (false, _) => RestoredFile::Skipped(path.clone(), RestoreStatus::ChangedByOthers),
        })
    }
}
