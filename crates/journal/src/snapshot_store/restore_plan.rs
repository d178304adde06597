//! Plans a restore to a record, without executing it.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::SnapshotStore;
use super::change_log::{FileImage, LoggedFileChange};
use crate::digest::sha256_hex;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedRestore {
    pub path: PathBuf,
    /// The content to restore.
    pub target: FileImage,
    /// The mode bits to restore.
    pub mode: Option<u32>,
    /// The current content.
    pub current: FileImage,
    pub status: RestoreStatus,
}

/// The current state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreStatus {
    /// As our last change left it: can be restored.
    Restorable,
    /// Already as it would be: nothing to do.
    AlreadyRestored,
    /// Another program changed it since: overwritten only if the user agrees.
    ChangedByOthers,
    /// The old content was too large to store: cannot be restored.
    NotStored,
}

/// What we did to a file, from first to last.
pub(super) struct FileChangeSequence {
    first: LoggedFileChange,
    last: LoggedFileChange,
    /// Each change began with what the one before it had left.
    is_ours: bool,
}

impl FileChangeSequence {
    pub(super) fn new(first: LoggedFileChange) -> Self {
        Self { last: first.clone(), first, is_ours: true }
    }

    fn take(&mut self, next: LoggedFileChange) {
        // A change may have been announced but not made.
        self.is_ours &= next.before == self.last.after || next.before == self.last.before;
        self.last = next;
    }
}

impl SnapshotStore {
    /// Plans a restore to this record: every file changed after it, in the order of their first
    /// change.
    #[must_use]
    pub fn plan_restore(&self, to_record: u64) -> Vec<PlannedRestore> {
        let mut files: Vec<FileChangeSequence> = Vec::new();
        let mut places: HashMap<PathBuf, usize> = HashMap::new();
        for changed in self.find_changes_after(to_record) {
            match places.get(&changed.path).and_then(|place| files.get_mut(*place)) {
                Some(file) => file.take(changed),
                None => {
                    places.insert(changed.path.clone(), files.len());
                    files.push(FileChangeSequence::new(changed));
                }
            }
        }
        files.into_iter().map(|file| self.plan_file(file)).collect()
    }

    /// Changes after a record that count, oldest first.
    fn find_changes_after(&self, record: u64) -> Vec<LoggedFileChange> {
        let log = self.lock_log();
        let later = log.changes.iter().skip(log.first_after_rewind(record).changes);
        later.filter(|changed| changed.record > record).cloned().collect()
    }

    /// The current and the planned content of a file; empty if it does not exist.
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

    pub(super) fn plan_file(&self, file: FileChangeSequence) -> PlannedRestore {
        let FileChangeSequence { first, last, is_ours } = file;
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
            () if !is_ours => RestoreStatus::ChangedByOthers,
            // Our last change may have been announced but not made.
            () if current == last.after || current == last.before => RestoreStatus::Restorable,
            () => RestoreStatus::ChangedByOthers,
        };
        PlannedRestore { path, target, mode, current, status: standing }
    }

    /// The current content of a file. `NotKept` if it is not a regular file or is too large.
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
