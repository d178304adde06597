//! Builds the plan: for every path that differs from the target, whether it still is as this
//! session left it.

use std::collections::{BTreeMap, BTreeSet};

use super::{PathStanding, RestorePlan, RestoreStep};
use crate::change::compare_snapshots;
use crate::digest::{ContentDigest, SnapshotId};
use crate::error::WorkspaceError;
use crate::git_index::is_same_index;
use crate::held_objects::is_held;
use crate::path_image::{PathChange, PathImage, UncoveredReason};
use crate::relative_path::RelativePath;
use crate::root_folder::{FileStamp, RootFolder, read_image, stat_child};
use crate::store::ContentStore;

/// The target, the current snapshot, and our batches in between.
pub(crate) struct PlanRequest<'a> {
    pub(crate) to: SnapshotId,
    pub(crate) current: SnapshotId,
    pub(crate) ours: &'a [SnapshotBatch],
}

/// Effects of this session that ran together, and the snapshots around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotBatch {
    pub before: SnapshotId,
    pub after: SnapshotId,
    /// Snapshots around batches that other sessions ran meanwhile: their changes belong to those
    /// sessions.
    pub beside: Vec<(SnapshotId, SnapshotId)>,
    /// `None` if `after` was taken when the effects had ended. Otherwise others may have changed
    /// files before `after` too, and only what is proven here is ours.
    pub proof: Option<BatchProof>,
}

/// What is known to be the work of a batch whose end nobody saw.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BatchProof {
    /// The batch was restoring this snapshot.
    pub restored: Option<SnapshotId>,
    /// Contents that were announced before they were written; `None` for a file to be removed.
    pub written: Vec<(RelativePath, Option<ContentDigest>)>,
}

/// A change within one of our batches.
struct BatchChange {
    change: PathChange,
    /// It is proven to be ours, or happened while we watched.
    is_ours: bool,
}

/// The changes of a batch, without those of the batches in `beside`. One of those whose snapshots
/// were forgotten excludes nothing.
pub(crate) fn list_batch_changes(
    store: &ContentStore,
    batch: &SnapshotBatch,
) -> Result<Vec<PathChange>, WorkspaceError> {
    let mut theirs = BTreeSet::new();
    for (before, after) in &batch.beside {
        match compare_snapshots(store, *before, *after) {
            Ok(changes) => theirs.extend(changes.into_iter().map(|change| change.path)),
            Err(WorkspaceError::NotKept(_) | WorkspaceError::DamagedRecord) => {}
            Err(error) => return Err(error),
        }
    }
    let mut changes = compare_snapshots(store, batch.before, batch.after)?;
    changes.retain(|change| !theirs.contains(&change.path));
    Ok(changes)
}

pub(crate) fn build_plan(
    root: &RootFolder,
    store: &ContentStore,
    request: &PlanRequest<'_>,
) -> Result<RestorePlan, WorkspaceError> {
    let mut history: BTreeMap<RelativePath, Vec<BatchChange>> = BTreeMap::new();
    for batch in request.ours {
        let proven = batch.proof.as_ref().map(|proof| list_proven(store, batch, proof));
        for change in list_batch_changes(store, batch)? {
            let is_ours = proven.as_ref().is_none_or(|proven| proven.includes(store, &change));
            let changes = history.entry(change.path.clone()).or_default();
            changes.push(BatchChange { change, is_ours });
        }
    }
    let mut steps = Vec::new();
    for change in compare_snapshots(store, request.current, request.to)? {
        // The comparison goes from the current snapshot to the target.
        let current = change.before;
        let target = change.after;
        let comparison = ImageComparison { store, path: &change.path };
        if comparison.is_equivalent(&current, &target)
            || is_given_back(store, &change.path, &target)
            || is_refused_but_same(root, &change.path, [&current, &target])
        {
            continue;
        }
        let ours = history.get(&change.path).map(Vec::as_slice).unwrap_or_default();
        let standing = match can_be_restored(store, &target, &current) {
            false => PathStanding::NotKept,
            true if comparison.is_as_we_left_it(&target, &current, ours) => PathStanding::Unchanged,
            true => PathStanding::ChangedByOthers,
        };
        steps.push(RestoreStep { path: change.path, target, current, standing });
    }
    hold_back_git(root, &mut steps);
    Ok(RestorePlan { target: request.to, current: request.current, steps })
}

/// The images that a batch is known to have left, by path.
#[derive(Default)]
struct ProvenImages {
    restored: BTreeMap<RelativePath, PathImage>,
    written: BTreeMap<RelativePath, Vec<Option<ContentDigest>>>,
}

/// A snapshot that is gone proves nothing.
fn list_proven(store: &ContentStore, batch: &SnapshotBatch, proof: &BatchProof) -> ProvenImages {
    let mut proven = ProvenImages::default();
    if let Some(restored) = proof.restored
        && let Ok(changes) = compare_snapshots(store, batch.before, restored)
    {
        proven.restored.extend(changes.into_iter().map(|change| (change.path, change.after)));
    }
    for (path, content) in &proof.written {
        proven.written.entry(path.clone()).or_default().push(*content);
    }
    proven
}

impl ProvenImages {
    fn includes(&self, store: &ContentStore, change: &PathChange) -> bool {
        let PathChange { path, after, .. } = change;
        let comparison = ImageComparison { store, path };
        let is_restored =
            self.restored.get(path).is_some_and(|image| comparison.is_equivalent(image, after));
        let written = self.written.get(path).map(Vec::as_slice).unwrap_or_default();
        is_restored
            || match after {
                PathImage::Absent => written.contains(&None),
                PathImage::File { content, .. } => written.contains(&Some(*content)),
                PathImage::Link { .. } | PathImage::Folder { .. } | PathImage::Uncovered { .. } => {
                    false
                }
            }
    }
}

/// Compares the images of one path in several snapshots.
struct ImageComparison<'a> {
    store: &'a ContentStore,
    path: &'a RelativePath,
}

impl ImageComparison<'_> {
    /// Follows the path from the target through our batches: each must have started from what the
    /// previous one left, and the last must have left the current image.
    fn is_as_we_left_it(
        &self,
        target: &PathImage,
        current: &PathImage,
        ours: &[BatchChange],
    ) -> bool {
        let mut left = target;
        for BatchChange { change, is_ours } in ours {
            if !is_ours || !self.is_equivalent(&change.before, left) {
                return false;
            }
            left = &change.after;
        }
        !ours.is_empty() && self.is_equivalent(left, current)
    }

    /// Equal, or git's index with the same entries: `git status` rewrites it.
    fn is_equivalent(&self, one: &PathImage, other: &PathImage) -> bool {
        one.is_same_as(other) || self.is_git_index() && self.are_same_indexes(one, other)
    }

    fn is_git_index(&self) -> bool {
        self.path.is_git_state() && self.path.parts().next_back() == Some(b"index".as_slice())
    }

    fn are_same_indexes(&self, one: &PathImage, other: &PathImage) -> bool {
        let read = |image: &PathImage| match image {
            PathImage::File { content, .. } => self.store.read(content).ok(),
            PathImage::Absent
            | PathImage::Link { .. }
            | PathImage::Folder { .. }
            | PathImage::Uncovered { .. } => None,
        };
        match (read(one), read(other)) {
            (Some(one), Some(other)) => is_same_index(&one, &other),
            (None, Some(_) | None) | (Some(_), None) => false,
        }
    }
}

/// Git's object folders are linked back together with the state that refers to them.
fn is_given_back(store: &ContentStore, path: &RelativePath, target: &PathImage) -> bool {
    let is_objects =
        matches!(target, PathImage::Uncovered { reason: UncoveredReason::GitObjects, .. });
    is_objects && is_held(store.folder(), path)
}

/// One look refused to keep the file, as it holds a key, and the other did not know the key: whether
/// the file has been the same all along.
fn is_refused_but_same(root: &RootFolder, path: &RelativePath, images: [&PathImage; 2]) -> bool {
    let find_stamp = |image: &PathImage| match image {
        PathImage::Uncovered { reason: UncoveredReason::Refused, stamp } => Some(*stamp),
        PathImage::Absent
        | PathImage::File { .. }
        | PathImage::Link { .. }
        | PathImage::Folder { .. }
        | PathImage::Uncovered { .. } => None,
    };
    let [one, other] = images;
    let (stamp, kept) = match (find_stamp(one), find_stamp(other)) {
        (Some(stamp), None) => (stamp, other),
        (None, Some(stamp)) => (stamp, one),
        (Some(_), Some(_)) | (None, None) => return false,
    };
    let Some((folder, name)) = path.split_last() else { return false };
    let is_same = || -> std::io::Result<bool> {
        let folder = root.open_folder(&folder)?;
        let Some(stat) = stat_child(&folder, name)? else { return Ok(false) };
        let is_unchanged = FileStamp::from(&stat).to_uncovered_stamp() == stamp;
        Ok(is_unchanged && read_image(&folder, name, stamp.size)?.is_same_as(kept))
    };
    is_same().unwrap_or(false)
}

/// Whether the target can be written and the current file can be moved away.
fn can_be_restored(store: &ContentStore, target: &PathImage, current: &PathImage) -> bool {
    let has_target = match target {
        PathImage::File { content, .. } => store.has(content),
        PathImage::Absent | PathImage::Link { .. } | PathImage::Folder { .. } => true,
        PathImage::Uncovered { .. } => false,
    };
    let may_move = match current {
        PathImage::Uncovered { reason, stamp } => match reason {
            UncoveredReason::TooLarge | UncoveredReason::NoRoom => true,
            // An ignored folder has no stamp, and its contents are unknown.
            UncoveredReason::Ignored => stamp.size > 0,
            UncoveredReason::Unreadable
            | UncoveredReason::NotPlain
            | UncoveredReason::OtherMount
            | UncoveredReason::Unstable
            | UncoveredReason::GitObjects
            // Moving it to the trash would keep bytes that must not be kept.
            | UncoveredReason::Refused => false,
        },
        PathImage::Absent
        | PathImage::File { .. }
        | PathImage::Link { .. }
        | PathImage::Folder { .. } => true,
    };
    has_target && may_move
}

/// A repository's state is restored as a whole or not at all: refs of one moment would not match
/// the index of another.
fn hold_back_git(root: &RootFolder, steps: &mut [RestoreStep]) {
    let folders: BTreeSet<RelativePath> =
        steps.iter().filter_map(|step| step.path.git_folder()).collect();
    for folder in folders {
        let is_locked = is_git_locked(root, &folder);
        let mut group: Vec<&mut RestoreStep> = steps
            .iter_mut()
            .filter(|step| step.path == folder || step.path.is_below(&folder))
            .collect();
        let is_changed = group.iter().any(|step| step.standing == PathStanding::ChangedByOthers);
        // A new file that is not stored, such as a socket, is not part of the state; a missing
        // index is.
        let is_incomplete = group
            .iter()
            .any(|step| step.standing == PathStanding::NotKept && step.target != PathImage::Absent);
        for step in &mut group {
            if is_incomplete || step.standing == PathStanding::NotKept {
                step.standing = PathStanding::NotKept;
            } else if is_locked {
                step.standing = PathStanding::GitLocked;
            } else if is_changed {
                step.standing = PathStanding::ChangedByOthers;
            }
        }
    }
}

/// Git holds a lock file in its folder while it changes something.
pub(super) fn is_git_locked(root: &RootFolder, folder: &RelativePath) -> bool {
    let Ok(handle) = root.open_folder(folder) else { return false };
    let Ok(listing) = rustix::fs::Dir::read_from(&handle) else { return false };
    listing.flatten().any(|entry| entry.file_name().to_bytes().ends_with(b".lock"))
}
