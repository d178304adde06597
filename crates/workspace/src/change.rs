//! Compares two snapshots. Folders with equal digests are not read.

use std::collections::{BTreeSet, HashSet};

use crate::digest::{ContentDigest, SnapshotId};
use crate::error::WorkspaceError;
use crate::folder_record::{EntryImage, FolderEntry, FolderRecord};
use crate::path_image::{PathChange, PathImage, UncoveredPath};
use crate::relative_path::RelativePath;
use crate::store::ContentStore;

/// Sorted by path; a folder precedes its entries.
pub(crate) fn compare_snapshots(
    store: &ContentStore,
    from: SnapshotId,
    to: SnapshotId,
) -> Result<Vec<PathChange>, WorkspaceError> {
    let mut comparison = SnapshotComparison { store, changes: Vec::new() };
    let root = RelativePath::root();
    comparison.compare_folders(&root, Some(from.digest()), Some(to.digest()))?;
    comparison.changes.sort_by(|one, other| one.path.parts().cmp(other.path.parts()));
    Ok(comparison.changes)
}

struct SnapshotComparison<'a> {
    store: &'a ContentStore,
    changes: Vec<PathChange>,
}

impl SnapshotComparison<'_> {
    fn compare_folders(
        &mut self,
        path: &RelativePath,
        before: Option<ContentDigest>,
        after: Option<ContentDigest>,
    ) -> Result<(), WorkspaceError> {
        if before == after {
            return Ok(());
        }
        let before = self.read(before)?;
        let after = self.read(after)?;
        let mut old = before.entries.iter().peekable();
        let mut new = after.entries.iter().peekable();
        loop {
            let order = match (old.peek(), new.peek()) {
                (None, None) => return Ok(()),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(old), Some(new)) => old.name.cmp(&new.name),
            };
            let old = if order.is_le() { old.next() } else { None };
            let new = if order.is_ge() { new.next() } else { None };
            self.compare_entries(path, old, new)?;
        }
    }

    fn compare_entries(
        &mut self,
        folder: &RelativePath,
        old: Option<&FolderEntry>,
        new: Option<&FolderEntry>,
    ) -> Result<(), WorkspaceError> {
        let Some(name) = old.or(new).map(|entry| &entry.name) else { return Ok(()) };
        if old.map(|entry| &entry.image) == new.map(|entry| &entry.image) {
            return Ok(());
        }
        let path = folder.join(name);
        let image = |entry: Option<&FolderEntry>| {
            entry.map_or(PathImage::Absent, |e| e.image.to_path_image())
        };
        let before = image(old);
        let after = image(new);
        if before != after {
            self.changes.push(PathChange { path: path.clone(), before, after });
        }
        let record = |entry: Option<&FolderEntry>| entry.and_then(|e| e.image.folder_record());
        self.compare_folders(&path, record(old), record(new))
    }

    fn read(&self, record: Option<ContentDigest>) -> Result<FolderRecord, WorkspaceError> {
        record.map_or(Ok(FolderRecord::default()), |record| self.store.read_folder(&record))
    }
}

/// Visits every path of a snapshot; a folder precedes its entries.
pub(crate) fn visit_snapshot(
    store: &ContentStore,
    snapshot: SnapshotId,
    visit: &mut dyn FnMut(&RelativePath, &EntryImage) -> Result<(), WorkspaceError>,
) -> Result<(), WorkspaceError> {
    visit_folder(store, &RelativePath::root(), snapshot.digest(), visit)
}

fn visit_folder(
    store: &ContentStore,
    path: &RelativePath,
    record: ContentDigest,
    visit: &mut dyn FnMut(&RelativePath, &EntryImage) -> Result<(), WorkspaceError>,
) -> Result<(), WorkspaceError> {
    for entry in store.read_folder(&record)?.entries {
        let path = path.join(&entry.name);
        visit(&path, &entry.image)?;
        if let Some(inner) = entry.image.folder_record() {
            visit_folder(store, &path, inner, visit)?;
        }
    }
    Ok(())
}

/// Whether the snapshot has this path, with its bytes if it is a file.
pub(crate) fn covers_path(store: &ContentStore, snapshot: SnapshotId, path: &RelativePath) -> bool {
    let mut record = Some(snapshot.digest());
    let mut is_covered = false;
    for part in path.parts() {
        let Some(folder) = record.and_then(|record| store.read_folder(&record).ok()) else {
            return false;
        };
        let entry = folder.entries.iter().find(|entry| entry.name.as_ref() == part);
        let Some(entry) = entry else { return false };
        is_covered = !matches!(entry.image, EntryImage::Uncovered { .. });
        record = entry.image.folder_record();
    }
    is_covered
}

pub(crate) fn list_uncovered(
    store: &ContentStore,
    snapshot: SnapshotId,
) -> Result<Vec<UncoveredPath>, WorkspaceError> {
    let mut uncovered = Vec::new();
    visit_snapshot(store, snapshot, &mut |path, image| {
        if let EntryImage::Uncovered { reason, stamp } = image
            && *reason != crate::path_image::UncoveredReason::GitObjects
        {
            let path = path.clone();
            uncovered.push(UncoveredPath { path, reason: *reason, bytes: stamp.size });
        }
        Ok(())
    })?;
    Ok(uncovered)
}

/// Every path whose bytes are not in the snapshot, including git's object folders.
pub(crate) fn collect_uncovered(
    store: &ContentStore,
    snapshot: SnapshotId,
) -> Result<BTreeSet<RelativePath>, WorkspaceError> {
    let mut uncovered = BTreeSet::new();
    visit_snapshot(store, snapshot, &mut |path, image| {
        if matches!(image, EntryImage::Uncovered { .. }) {
            uncovered.insert(path.clone());
        }
        Ok(())
    })?;
    Ok(uncovered)
}

/// Every digest these snapshots refer to, records and contents. A folder shared by several
/// snapshots is read once. A snapshot that is not in the store contributes nothing but its own
/// digest.
pub(crate) fn collect_live(
    store: &ContentStore,
    snapshots: &[SnapshotId],
) -> Result<HashSet<ContentDigest>, WorkspaceError> {
    let mut live = HashSet::new();
    let mut folders: Vec<ContentDigest> = snapshots.iter().map(|id| id.digest()).collect();
    while let Some(record) = folders.pop() {
        if !live.insert(record) {
            continue;
        }
        let folder = match store.read_folder(&record) {
            Ok(folder) => folder,
            // A lost record cannot be kept; the others can.
            Err(WorkspaceError::NotKept(_) | WorkspaceError::DamagedRecord) => continue,
            Err(error) => return Err(error),
        };
        for entry in folder.entries {
            match entry.image {
                EntryImage::File { content, .. } => {
                    live.insert(content);
                }
                EntryImage::Folder { record, .. } => folders.push(record),
                EntryImage::Link { .. } | EntryImage::Uncovered { .. } => {}
            }
        }
    }
    Ok(live)
}
