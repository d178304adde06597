//! Stores the content of files before our tools change them, so that changes can be undone.
//!
//! `<session>.kept/blobs/<hash>` are contents; each line of `log` records which file was changed
//! after which record, from which content to which. A content is durable before its file is
//! changed. Sizes are limited: a file that is too large is only logged, and cannot be restored. For
//! changes by shell commands, `log` names the snapshots around them.

mod change_log;
mod file_exchange;
mod fork_history;
mod last_rewind;
mod restore;
mod restore_plan;
mod snapshot_span;

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::digest::sha256_hex;
use crate::disk::{JournalDisk, RealDisk, replace_file};
use crate::durability::Durability;
use crate::error::JournalError;
use change_log::ChangeLog;

pub use change_log::{FileImage, LoggedFileChange};
pub use fork_history::fork_history;
pub use last_rewind::LastRewind;
pub use restore::RestoredFile;
pub use restore_plan::{PlannedRestore, RestoreStatus};
pub use snapshot_span::SnapshotSpan;

/// The file history of one session.
#[derive(Debug)]
pub struct SnapshotStore {
    folder: PathBuf,
    limits: SnapshotLimits,
    durability: Durability,
    log: Mutex<ChangeLog>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotLimits {
    pub file_bytes_max: u64,
    pub session_bytes_max: u64,
    /// Limit on the number of changes.
    pub changes_max: usize,
}

impl Default for SnapshotLimits {
    fn default() -> Self {
        Self { file_bytes_max: 16 << 20, session_bytes_max: 512 << 20, changes_max: 100_000 }
    }
}

/// A change that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct UpcomingFileChange<'a> {
    /// The last record before it.
    pub record: u64,
    /// An absolute path.
    pub path: &'a Path,
    /// The current content; `None` if the file does not exist.
    pub before: Option<&'a [u8]>,
    /// The new content; `None` if the file will be removed.
    pub after: Option<&'a [u8]>,
    /// The current mode bits.
    pub mode: Option<u32>,
}

impl SnapshotStore {
    /// The folder of a session's file history, beside its journal.
    #[must_use]
    pub fn folder_for(journal: &Path) -> PathBuf {
        journal.with_extension("kept")
    }

    /// Opens the history in this folder, which is created when first needed.
    pub fn open(
        folder: &Path,
        durability: Durability,
        limits: SnapshotLimits,
    ) -> Result<Self, JournalError> {
        let log = Mutex::new(ChangeLog::load(&folder.join("log"))?);
        Ok(Self { folder: folder.to_owned(), limits, durability, log })
    }

    /// Stores a file's content before a change. When it returns, the change may be made. Returns
    /// whether it can be undone: a file over a limit is only logged.
    ///
    /// # Errors
    ///
    /// The disk fails: then the change must not be made.
    pub fn save_before_change(
        &self,
        change: &UpcomingFileChange<'_>,
    ) -> Result<bool, JournalError> {
        self.save_change(change, None)
    }

    fn save_change(
        &self,
        change: &UpcomingFileChange<'_>,
        rewind: Option<usize>,
    ) -> Result<bool, JournalError> {
        let mut log = self.lock_log();
        if log.changes.len() >= self.limits.changes_max {
            return Err(JournalError::TooLarge {
                what: "the list of changes",
                size: log.changes.len() as u64,
                max: self.limits.changes_max as u64,
            });
        }
        let before = match change.before {
            None => FileImage::Absent,
            Some(bytes) => self.store_content(bytes, &mut log)?,
        };
        let after = match change.after {
            None => FileImage::Absent,
            Some(bytes) => FileImage::Content(sha256_hex(bytes)),
        };
        let is_kept = before != FileImage::NotKept;
        let UpcomingFileChange { record, path, mode, .. } = *change;
        let path = path.to_owned();
        let changed = LoggedFileChange { record, path, before, after, mode, rewind };
        log.append_change(&self.folder.join("log"), changed, self.durability)?;
        Ok(is_kept)
    }

    /// Records a rewind: numbers after this record are reused from now on.
    pub fn record_rewind(&self, record: u64) -> Result<(), JournalError> {
        let mut log = self.lock_log();
        if log.changes.is_empty() && log.spans.is_empty() {
            return Ok(());
        }
        log.append_rewind(&self.folder.join("log"), record, self.durability)
    }

    /// All changes, oldest first.
    #[must_use]
    pub fn changes(&self) -> Vec<LoggedFileChange> {
        self.lock_log().changes.clone()
    }

    /// Stores a content under its hash, unless it exists.
    fn store_content(&self, bytes: &[u8], log: &mut ChangeLog) -> Result<FileImage, JournalError> {
        let size = bytes.len() as u64;
        let name = sha256_hex(bytes);
        let path = self.blob_path(&name);
        if path.is_file() {
            return Ok(FileImage::Content(name));
        }
        let SnapshotLimits { file_bytes_max, session_bytes_max, .. } = self.limits;
        if size > file_bytes_max || log.bytes.saturating_add(size) > session_bytes_max {
            return Ok(FileImage::NotKept);
        }
        let blobs = self.folder.join("blobs");
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&blobs)
            .map_err(JournalError::disk_error(&blobs, "made"))?;
        let written = match self.durability {
            Durability::Synced => replace_file(&RealDisk, &path, bytes),
            Durability::Written => write_atomically(&path, bytes),
        };
        written.map_err(JournalError::disk_error(&path, "kept"))?;
        log.bytes += size;
        Ok(FileImage::Content(name))
    }

    fn blob_path(&self, name: &str) -> PathBuf {
        self.folder.join("blobs").join(name)
    }

    fn lock_log(&self) -> MutexGuard<'_, ChangeLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Atomic for other processes, but not in a power loss.
fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = crate::disk::append_suffix(path, "new");
    std::fs::write(&temporary, bytes)?;
    RealDisk.rename(&temporary, path)
}
