//! A look scans the tree and stores its current state durably as one snapshot.
//!
//! The walk collects folders in any order; `assemble` then builds their records bottom-up and
//! writes only those that differ from the last look.

mod folder_names;
mod ignore_rules;
mod look_cache;
mod read_file;
mod repository;
mod walk;
mod walk_queue;

use std::sync::Arc;
use std::time::{Duration, Instant};

use look_cache::CachedEntry;
pub(crate) use look_cache::{CachedFolder, load_cache, save_cache};
use walk::{FolderOutcome, WalkContext, WalkJob, WalkZone, WalkedEntry, WalkedFolder};
pub(crate) use walk_queue::WalkSettings;
use walk_queue::Walker;

use crate::digest::{ContentDigest, SnapshotId};
use crate::error::WorkspaceError;
use crate::folder_record::{EntryImage, FolderEntry, FolderRecord};
use crate::path_image::{UncoveredPath, UncoveredReason, UncoveredStamp};
use crate::relative_path::RelativePath;
use crate::root_folder::RootFolder;
use crate::store::ContentStore;

/// Larger rule files are ignored.
const RULE_BYTES_MAX: u64 = 1 << 20;
/// A first look is bound by the disk; later ones hardly read it.
const THREADS_FIRST: usize = 16;
const THREADS_LATER: usize = 2;

#[derive(Debug, Clone)]
pub struct SnapshotReport {
    pub id: SnapshotId,
    /// Sorted by path. Git's objects are not listed: they are never covered and only grow.
    pub uncovered: Vec<UncoveredPath>,
    pub files: u64,
    pub bytes_read: u64,
    pub took: Duration,
}

/// The report and the state the next look builds on.
pub(crate) struct LookResult {
    pub(crate) report: SnapshotReport,
    pub(crate) cache: Arc<CachedFolder>,
    /// The `objects` folders of git repositories.
    pub(crate) git_objects: Vec<RelativePath>,
}

pub(crate) fn look(
    root: &RootFolder,
    store: &ContentStore,
    cached: Option<&Arc<CachedFolder>>,
    settings: WalkSettings<'_>,
) -> Result<LookResult, WorkspaceError> {
    let started = Instant::now();
    store.measure_room()?;
    let is_later = cached.is_some() && settings.may_trust_cache;
    let context = WalkContext {
        rules: ignore_rules::RuleLevel::base(settings.ignore_patterns, &RelativePath::root()),
        repository: Arc::default(),
        zone: WalkZone::Plain,
    };
    let job = WalkJob {
        node: 0,
        parent: None,
        name: Box::default(),
        path: RelativePath::root(),
        depth: 0,
        cached: cached.cloned(),
        has_cached_names: false,
        context,
    };
    let walker = Walker::new(root, store, settings);
    let (outcomes, bytes_read) =
        walker.run(job, if is_later { THREADS_LATER } else { THREADS_FIRST })?;
    let cache = assemble(store, outcomes)?;
    store.sync()?;
    let mut summary = LookSummary::default();
    summary.add_folder(&cache, &RelativePath::root());
    let report = SnapshotReport {
        id: SnapshotId::from_digest(cache.record),
        uncovered: summary.uncovered,
        files: summary.files,
        bytes_read,
        took: started.elapsed(),
    };
    Ok(LookResult { report, cache, git_objects: summary.git_objects })
}

/// State of a sub-folder at the time its parent is assembled.
enum AssembledFolder {
    Recorded(Arc<CachedFolder>),
    Uncovered(UncoveredReason),
    Vanished,
}

fn assemble(
    store: &ContentStore,
    outcomes: Vec<Option<FolderOutcome>>,
) -> Result<Arc<CachedFolder>, WorkspaceError> {
    let mut assembled: Vec<Option<AssembledFolder>> = Vec::new();
    assembled.resize_with(outcomes.len(), || None);
    // A folder has a higher number than its parent, so in reverse order children come first.
    for (node, outcome) in outcomes.into_iter().enumerate().rev() {
        let folder = match outcome {
            Some(FolderOutcome::Walked(walked)) => {
                AssembledFolder::Recorded(assemble_folder(store, walked, &mut assembled)?)
            }
            Some(FolderOutcome::Uncovered(reason)) => AssembledFolder::Uncovered(reason),
            Some(FolderOutcome::Vanished) | None => AssembledFolder::Vanished,
        };
        if let Some(place) = assembled.get_mut(node) {
            *place = Some(folder);
        }
    }
    match assembled.first_mut().and_then(Option::take) {
        Some(AssembledFolder::Recorded(root)) => Ok(root),
        Some(AssembledFolder::Uncovered(_) | AssembledFolder::Vanished) | None => Err(
            WorkspaceError::disk("read", std::path::Path::new("."), std::io::ErrorKind::NotFound),
        ),
    }
}

fn assemble_folder(
    store: &ContentStore,
    walked: WalkedFolder,
    assembled: &mut [Option<AssembledFolder>],
) -> Result<Arc<CachedFolder>, WorkspaceError> {
    let mut entries = Vec::with_capacity(walked.entries.len());
    for entry in walked.entries {
        entries.extend(settle_entry(entry, assembled));
    }
    if let Some(cached) = &walked.cached
        && cached.source == walked.source
        && are_equal(cached, &entries)
        && store.has(&cached.record)
    {
        return Ok(Arc::clone(cached));
    }
    let record = put_folder_record(store, &entries, walked.cached.as_deref())?;
    Ok(Arc::new(CachedFolder::new(entries, walked.source, record)))
}

/// Fills in the result of a sub-folder; `None` when it vanished.
fn settle_entry(
    walked: WalkedEntry,
    assembled: &mut [Option<AssembledFolder>],
) -> Option<CachedEntry> {
    let mut entry = walked.entry;
    let Some(child) = walked.child else { return Some(entry) };
    match assembled.get_mut(child).and_then(Option::take)? {
        AssembledFolder::Recorded(folder) => {
            if let EntryImage::Folder { record, .. } = &mut entry.image {
                *record = folder.record;
            }
            entry.folder = Some(folder);
        }
        AssembledFolder::Uncovered(reason) => {
            entry.image = EntryImage::Uncovered { reason, stamp: UncoveredStamp::default() };
        }
        AssembledFolder::Vanished => return None,
    }
    Some(entry)
}

fn put_folder_record(
    store: &ContentStore,
    entries: &[CachedEntry],
    cached: Option<&CachedFolder>,
) -> Result<ContentDigest, WorkspaceError> {
    // Only stamps differ: the record is unchanged.
    let is_known = cached.filter(|cached| {
        cached.len() == entries.len()
            && cached
                .entries()
                .zip(entries)
                .all(|((name, old), new)| *name == *new.name && old.image == new.image)
            && store.has(&cached.record)
    });
    if let Some(cached) = is_known {
        return Ok(cached.record);
    }
    let entries = entries
        .iter()
        .map(|entry| FolderEntry { name: entry.name.clone(), image: entry.image.clone() })
        .collect();
    store.put_record(&FolderRecord { entries }.encode())
}

fn are_equal(old: &CachedFolder, new: &[CachedEntry]) -> bool {
    let is_same_folder = |old: &CachedEntry, new: &CachedEntry| match (&old.folder, &new.folder) {
        (Some(old), Some(new)) => Arc::ptr_eq(old, new),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    old.len() == new.len()
        && old.entries().zip(new).all(|((name, old), new)| {
            *name == *new.name
                && old.stamp == new.stamp
                && old.is_settled == new.is_settled
                && old.is_ignored == new.is_ignored
                && old.image == new.image
                && is_same_folder(&old, new)
        })
}

#[derive(Default)]
struct LookSummary {
    files: u64,
    uncovered: Vec<UncoveredPath>,
    git_objects: Vec<RelativePath>,
}

impl LookSummary {
    fn add_folder(&mut self, folder: &CachedFolder, path: &RelativePath) {
        for (name, entry) in folder.entries() {
            match &entry.image {
                EntryImage::File { .. } | EntryImage::Link { .. } => self.files += 1,
                EntryImage::Folder { .. } => {}
                EntryImage::Uncovered { reason: UncoveredReason::GitObjects, .. } => {
                    // LFS objects are not linked: the tree itself has their contents.
                    if name == b"objects" {
                        self.git_objects.push(path.join(name));
                    }
                }
                EntryImage::Uncovered { reason, stamp } => self.uncovered.push(UncoveredPath {
                    path: path.join(name),
                    reason: *reason,
                    bytes: stamp.size,
                }),
            }
            if let Some(inner) = &entry.folder {
                self.add_folder(inner, &path.join(name));
            }
        }
    }
}
