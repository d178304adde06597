//! What going back to a record would change, looked at and not done.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::SnapshotStore;
use super::change_log::{FileImage, LoggedFileChange};
use crate::digest::sha256_hex;

/// What going back would do to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedRestore {
    pub path: PathBuf,
    /// What it would hold again.
    pub target: FileImage,
    /// The bits of its mode then.
    pub mode: Option<u32>,
    /// What it holds now.
    pub current: FileImage,
    pub status: RestoreStatus,
}

/// How a file stands now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreStatus {
    /// As our last change left it: it can be taken back.
    Restorable,
    /// As it would be: nothing is to be done.
    AlreadyRestored,
    /// Another program changed it since: it is overwritten only if the user says so.
    ChangedByOthers,
    /// What it held was too large to keep: it cannot be taken back.
    NotStored,
}

impl SnapshotStore {
    /// What going back to this record would change: every file that was changed behind it, in the
    /// order in which they were first changed.
    #[must_use]
    pub fn plan_restore(&self, to_record: u64) -> Vec<PlannedRestore> {
        let mut spans: Vec<(LoggedFileChange, LoggedFileChange)> = Vec::new();
        for changed in self.find_changes_after(to_record) {
            match spans.iter_mut().find(|(first, _)| first.path == changed.path) {
                Some((_, last)) => *last = changed,
                None => spans.push((changed.clone(), changed)),
            }
        }
        spans.into_iter().map(|(first, last)| self.plan_file(first, &last)).collect()
    }

    /// What was changed behind a record that counts, oldest first.
    fn find_changes_after(&self, record: u64) -> Vec<LoggedFileChange> {
        let log = self.lock_log();
        let later = log.changes.iter().skip(log.first_after_rewind(record).changes);
        later.filter(|changed| changed.record > record).cloned().collect()
    }

    /// What a file holds now and what it would hold again; nothing where it is not or will not be.
    #[must_use]
    pub fn read_contents(&self, planned: &PlannedRestore) -> (Vec<u8>, Vec<u8>) {
        let now = match planned.current {
            FileImage::Content(_) => std::fs::read(&planned.path).unwrap_or_default(),
            FileImage::Absent | FileImage::NotKept => Vec::new(),
        };
        let then = match &planned.target {
            FileImage::Content(name) => std::fs::read(self.blob_path(name)).unwrap_or_default(),
            FileImage::Absent | FileImage::NotKept => Vec::new(),
        };
        (now, then)
    }

    fn plan_file(&self, first: LoggedFileChange, last: &LoggedFileChange) -> PlannedRestore {
        let LoggedFileChange { path, before: target, mode, .. } = first;
        let current = self.inspect_file(&path);
        let is_there = match &target {
            FileImage::Content(name) => self.blob_path(name).is_file(),
            FileImage::Absent => true,
            FileImage::NotKept => false,
        };
        let standing = match () {
            () if current == target => RestoreStatus::AlreadyRestored,
            () if !is_there => RestoreStatus::NotStored,
            // Our last change may have been announced and not made.
            () if current == last.after || current == last.before => RestoreStatus::Restorable,
            () => RestoreStatus::ChangedByOthers,
        };
        PlannedRestore { path, target, mode, current, status: standing }
    }

    /// What a file holds now. What is no plain file, or is too large, is nothing of ours.
    pub(super) fn inspect_file(&self, path: &Path) -> FileImage {
        let Ok(metadata) = path.symlink_metadata() else { return FileImage::Absent };
        let max = self.limits.session_bytes_max;
        if !metadata.is_file() || metadata.len() > max {
            return FileImage::NotKept;
        }
        let mut bytes = Vec::new();
        let read =
            std::fs::File::open(path).and_then(|file| file.take(max).read_to_end(&mut bytes));
        match read {
            Ok(_) => FileImage::Content(sha256_hex(&bytes)),
            Err(_) => FileImage::NotKept,
        }
    }
}
