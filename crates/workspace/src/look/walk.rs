//! Walks one folder: compares every entry with the cache, and reads it unless the cached stamp
//! proves that it is unchanged.

use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{FileType, Stat, readlinkat};

use super::folder_names::list_folder;
use super::ignore_rules::RuleLevel;
use super::look_cache::{CachedEntry, CachedFolder, DecisionSource};
use super::repository::Repository;
use super::walk_queue::Walker;
use crate::change::covers_path;
use crate::digest::ContentDigest;
use crate::error::WorkspaceError;
use crate::folder_record::{EntryImage, MODE_MASK};
use crate::path_image::{UncoveredReason, UncoveredStamp};
use crate::raw_stat::{device_of, file_type_of, mode_of};
use crate::relative_path::RelativePath;
use crate::restore::has_log;
use crate::root_folder::{
    FileStamp, TEMPORARY_PREFIX, open_child_folder, read_small_file, stat_child,
};

const DEPTH_MAX: usize = 1_000;
const PLACEHOLDER_MODE: u32 = 0o1755;
/// Text rarely compresses by more than this factor.
const COMPRESSION_GUESS: u64 = 8;

/// A folder to walk.
pub(crate) struct WalkJob {
    pub(crate) node: usize,
    /// `None` for the root, whose handle the walker has.
    pub(crate) parent: Option<Arc<OwnedFd>>,
    pub(crate) name: Box<[u8]>,
    pub(crate) path: RelativePath,
    pub(crate) depth: usize,
    pub(crate) cached: Option<Arc<CachedFolder>>,
    /// The folder's own stamp proves that no name was added or removed since the cache was made.
    pub(crate) has_cached_names: bool,
    pub(crate) context: WalkContext,
}

/// Inherited settings for all entries of a folder.
#[derive(Clone)]
pub(crate) struct WalkContext {
    pub(crate) rules: Arc<RuleLevel>,
    pub(crate) repository: Arc<Repository>,
    pub(crate) zone: WalkZone,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WalkZone {
    Plain,
    /// Inside an ignored folder: only files that git tracks are covered.
    InsideIgnored,
    /// Inside a `.git` folder.
    GitFolder,
}

pub(crate) struct WalkedFolder {
    pub(crate) entries: Vec<WalkedEntry>,
    pub(crate) source: DecisionSource,
    pub(crate) cached: Option<Arc<CachedFolder>>,
}

pub(crate) struct WalkedEntry {
    pub(crate) entry: CachedEntry,
    /// The node of the sub-folder's walk, whose record is not known yet.
    pub(crate) child: Option<usize>,
}

pub(crate) enum FolderOutcome {
    Walked(WalkedFolder),
    Uncovered(UncoveredReason),
    Vanished,
}

impl Walker<'_> {
    pub(crate) fn walk_folder(&self, job: &WalkJob) -> Result<FolderOutcome, WorkspaceError> {
        let handle = match self.open_job(job) {
            Ok(handle) => Arc::new(handle),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(FolderOutcome::Vanished);
            }
            Err(_) => return Ok(FolderOutcome::Uncovered(UncoveredReason::Unreadable)),
        };
        let Ok(names) = list_names(job, &handle) else {
            return Ok(FolderOutcome::Uncovered(UncoveredReason::Unreadable));
        };
        if names.len() as u64 > self.settings.limits.paths {
            return Err(WorkspaceError::TooManyPaths(self.settings.limits.paths));
        }
        let context = self.enter_folder(job, &handle, &names);
        let source = DecisionSource {
            rules: context.rules.identity,
            index: context.repository.index_identity,
        };
        let folder = FolderWalk {
            walker: self,
            job,
            handle: &handle,
            is_git_folder: contains(&names, b"HEAD"),
            context: &context,
            is_source_same: job.cached.as_ref().is_some_and(|cached| cached.source == source),
            is_rules_same: job.cached.as_ref().is_some_and(|c| c.source.rules == source.rules),
            keeps_covered: Cell::new(false),
            next_cached: Cell::new(0),
        };
        let mut entries = Vec::with_capacity(names.len());
        self.check_stop()?;
        for name in names {
            self.check_cancel()?;
            if let Some(mut walked) = folder.walk_entry(&name)? {
                walked.entry.name = name;
                entries.push(walked);
            }
        }
        self.count_paths(entries.len())?;
        let source = match folder.keeps_covered.get() {
            true => source.with_kept_coverage(),
            false => source,
        };
        Ok(FolderOutcome::Walked(WalkedFolder { entries, source, cached: job.cached.clone() }))
    }

    fn open_job(&self, job: &WalkJob) -> std::io::Result<OwnedFd> {
        match &job.parent {
            Some(parent) => open_child_folder(parent, &job.name),
            // Reopened: a duplicated handle would share the directory offset.
            None => open_child_folder(&self.root.handle, b"."),
        }
    }

    /// Determines the ignore rules and the repository for a folder's entries.
    fn enter_folder(&self, job: &WalkJob, handle: &OwnedFd, names: &[Box<[u8]>]) -> WalkContext {
        let mut context = job.context.clone();
        if context.zone == WalkZone::GitFolder {
            return context;
        }
        if contains(names, b".git") {
            // The rules of an enclosing repository do not apply inside this one.
            let absolute = self.root.path.join(job.path.as_path());
            let repository = Repository::open(handle, &job.path, &absolute);
            let base = RuleLevel::base(self.settings.ignore_patterns, &RelativePath::root());
            context.rules = match repository.read_exclude() {
                Some(lines) => RuleLevel::below(&base, &job.path, lines),
                None => base,
            };
            context.repository = Arc::new(repository);
        }
        if contains(names, b".gitignore")
            && let Some(lines) = read_small_file(handle, b".gitignore", super::RULE_BYTES_MAX)
        {
            context.rules = RuleLevel::below(&context.rules, &job.path, lines);
        }
        context
    }
}

pub(super) struct FolderWalk<'a> {
    pub(super) walker: &'a Walker<'a>,
    job: &'a WalkJob,
    pub(super) handle: &'a Arc<OwnedFd>,
    /// Has a `HEAD`, which every git folder has.
    is_git_folder: bool,
    context: &'a WalkContext,
    is_source_same: bool,
    is_rules_same: bool,
    /// Set when a rule now ignores something that an earlier look of this process covered.
    keeps_covered: Cell<bool>,
    next_cached: Cell<usize>,
}

impl FolderWalk<'_> {
    /// `None` for entries that are not part of a snapshot.
    fn walk_entry(&self, name: &[u8]) -> Result<Option<WalkedEntry>, WorkspaceError> {
        let is_lock = self.context.zone == WalkZone::GitFolder && name.ends_with(b".lock");
        // Of that name only while a restore is under way: nothing may hide by it.
        let is_temporary = name.starts_with(TEMPORARY_PREFIX) && has_log(self.walker.store);
        if is_temporary || is_lock {
            return Ok(None);
        }
        let stat = match stat_child(self.handle, name) {
            Ok(Some(stat)) => stat,
            Ok(None) => return Ok(None),
            Err(_) => return Ok(Some(uncovered_entry(UncoveredReason::Unreadable))),
        };
        let stamp = FileStamp::from(&stat);
        let kind = FileType::from_raw_mode(stat.st_mode);
        let is_folder = kind == FileType::Directory;
        if is_folder && (self.walker.is_excluded(&stat) || is_placeholder(self.handle, name, &stat))
        {
            return Ok(None);
        }
        let may_differ = self.walker.root.is_overlay && kind != FileType::Directory;
        if device_of(&stat) != self.walker.root.device && !may_differ {
            return Ok(Some(uncovered_entry(UncoveredReason::OtherMount)));
        }
        let cached = self.find_cached(name);
        let cached = cached.as_ref();
        match kind {
            FileType::Directory => self.walk_subfolder(name, stamp, cached),
            FileType::RegularFile => self.walk_file(name, stamp, cached),
            FileType::Symlink => Ok(self.walk_link(name, stamp, cached)),
            _ if self.context.zone == WalkZone::InsideIgnored => Ok(None),
            _ => Ok(Some(uncovered_entry(UncoveredReason::NotPlain))),
        }
    }

    /// Names arrive in the cache's order, so usually the next cached entry matches.
    fn find_cached(&self, name: &[u8]) -> Option<CachedEntry> {
        let folder = self.job.cached.as_ref()?;
        let next = self.next_cached.get();
        let index = match folder.name(next) == name {
            true => next,
            false => folder.find(name)?,
        };
        self.next_cached.set(index + 1);
        folder.entry(index)
    }

    fn walk_subfolder(
        &self,
        name: &[u8],
        stamp: FileStamp,
        cached: Option<&CachedEntry>,
    ) -> Result<Option<WalkedEntry>, WorkspaceError> {
        let path = self.job.path.join(name);
        let mut context = self.context.clone();
        let mut is_ignored = false;
        if self.context.zone == WalkZone::GitFolder {
            if self.is_git_objects(name) {
                return Ok(Some(uncovered_entry(UncoveredReason::GitObjects)));
            }
        } else if name == b".git" {
            if self.context.zone == WalkZone::InsideIgnored {
                return Ok(None);
            }
            context.zone = WalkZone::GitFolder;
        } else if self.context.zone == WalkZone::InsideIgnored {
            if !self.context.repository.tracks_below(&path) && !self.stays_covered(&path, cached) {
                return Ok(None);
            }
        } else if self.decide_ignored(&path, cached) {
            is_ignored = true;
            if !self.has_tracked_below(&path, cached) && !self.stays_covered(&path, cached) {
                let mut entry = uncovered_entry(UncoveredReason::Ignored);
                entry.entry.stamp.mode = stamp.mode;
                entry.entry.is_ignored = true;
                return Ok(Some(entry));
            }
            context.zone = WalkZone::InsideIgnored;
        }
        if self.job.depth >= DEPTH_MAX {
            return Ok(Some(uncovered_entry(UncoveredReason::Unreadable)));
        }
        // A folder's own stamp changes with its list of names, and was taken before the names were
        // read.
        let has_cached_names = self.walker.settings.may_trust_cache
            && context.zone != WalkZone::InsideIgnored
            && cached.is_some_and(|entry| entry.is_settled && entry.stamp == stamp);
        let node = self.walker.push(WalkJob {
            node: 0,
            parent: Some(Arc::clone(self.handle)),
            name: name.into(),
            path,
            depth: self.job.depth + 1,
            cached: cached.and_then(|entry| entry.folder.clone()),
            has_cached_names,
            context,
        });
        let record = ContentDigest::from_bytes([0; 32]);
        let image = EntryImage::Folder { record, mode: stamp.mode & MODE_MASK };
        let entry = CachedEntry {
            name: Box::default(),
            stamp,
            is_settled: self.walker.is_settled(&stamp),
            is_ignored,
            image,
            folder: None,
        };
        Ok(Some(WalkedEntry { entry, child: Some(node) }))
    }

    fn walk_file(
        &self,
        name: &[u8],
        stamp: FileStamp,
        cached: Option<&CachedEntry>,
    ) -> Result<Option<WalkedEntry>, WorkspaceError> {
        let is_ignored = match self.context.zone {
            WalkZone::GitFolder => false,
            WalkZone::InsideIgnored => {
                let path = self.job.path.join(name);
                if !self.context.repository.tracks(&path) && !self.stays_covered(&path, cached) {
                    return Ok(None);
                }
                false
            }
            WalkZone::Plain => self.is_ignored_file(name, cached),
        };
        let limits = self.walker.settings.limits;
        let reason = match is_ignored {
            true if stamp.size > limits.ignored_file_bytes => Some(UncoveredReason::Ignored),
            _ if stamp.size > limits.file_bytes => Some(UncoveredReason::TooLarge),
            _ => None,
        };
        let mut walked = CachedEntry {
            name: Box::default(),
            stamp,
            is_settled: self.walker.is_settled(&stamp),
            is_ignored,
            image: EntryImage::Uncovered {
                reason: UncoveredReason::Unreadable,
                stamp: stamp.to_uncovered_stamp(),
            },
            folder: None,
        };
        if let Some(reason) = reason {
            walked.image = EntryImage::Uncovered { reason, stamp: stamp.to_uncovered_stamp() };
        } else if let Some(image) = self.reuse_image(&stamp, cached, is_ignored) {
            walked.image = image;
        } else {
            self.read_file(name, &mut walked)?;
        }
        Ok(Some(WalkedEntry { entry: walked, child: None }))
    }

    /// The cached content of a file that cannot have changed since it was read.
    fn reuse_image(
        &self,
        stamp: &FileStamp,
        cached: Option<&CachedEntry>,
        is_ignored: bool,
    ) -> Option<EntryImage> {
        if self.walker.settings.keeps_refused
            && let Some(known) = cached.filter(|known| known.stamp == *stamp)
            && let EntryImage::Uncovered { reason: UncoveredReason::Refused, .. } = known.image
        {
            return Some(known.image.clone());
        }
        let cached = cached.filter(|cached| {
            self.walker.settings.may_trust_cache && cached.is_settled && cached.stamp == *stamp
        })?;
        match cached.image {
            EntryImage::File { content, size, mode, .. } => {
                let is_kept =
                    !self.walker.settings.must_ask_store || self.walker.store.has_safely(&content);
                is_kept.then_some(EntryImage::File { content, size, mode, is_ignored })
            }
            // Avoids reading the file at every look while there is clearly no room for it.
            EntryImage::Uncovered { reason: UncoveredReason::NoRoom, stamp } => {
                let has_room = self.walker.store.room() > stamp.size / COMPRESSION_GUESS;
                (!has_room)
                    .then_some(EntryImage::Uncovered { reason: UncoveredReason::NoRoom, stamp })
            }
            EntryImage::Link { .. } | EntryImage::Folder { .. } | EntryImage::Uncovered { .. } => {
                None
            }
        }
    }

    fn is_ignored_file(&self, name: &[u8], cached: Option<&CachedEntry>) -> bool {
        if name == b".gitignore" || name == b".git" {
            return false;
        }
        if let Some(cached) = cached.filter(|cached| cached.folder.is_none()) {
            // "Not ignored" holds whatever the index says; "ignored" does not, as git may have
            // started to track the file.
            if self.is_source_same || self.is_rules_same && !cached.is_ignored {
                return cached.is_ignored;
            }
        }
        let path = self.job.path.join(name);
        self.context.rules.is_ignored(&path, false)
            && !self.context.repository.tracks(&path)
            && !self.keeps_coverage(cached)
    }

    /// Files this process has covered stay covered: a turn that also changes the ignore rules must
    /// not make its other changes irreversible.
    fn keeps_coverage(&self, cached: Option<&CachedEntry>) -> bool {
        let was_covered = cached.is_some_and(|entry| !entry.is_ignored);
        let keeps = self.walker.settings.keeps_coverage && was_covered;
        if keeps {
            self.keeps_covered.set(true);
        }
        keeps
    }

    /// The same below an ignored folder, where only what git tracked was covered: it stays covered
    /// when git does not track it any more. So does what the snapshots of a restore cover.
    fn stays_covered(&self, path: &RelativePath, cached: Option<&CachedEntry>) -> bool {
        let settings = &self.walker.settings;
        let was_covered = cached.is_some_and(|entry| {
            entry.folder.is_some()
                || matches!(entry.image, EntryImage::File { .. } | EntryImage::Link { .. })
        });
        let mut snapshots = settings.covered_in.iter();
        let keeps = settings.keeps_coverage && was_covered
            || snapshots.any(|snapshot| covers_path(self.walker.store, *snapshot, path));
        if keeps {
            self.keeps_covered.set(true);
        }
        keeps
    }

    fn decide_ignored(&self, path: &RelativePath, cached: Option<&CachedEntry>) -> bool {
        match cached.filter(|entry| self.is_rules_same && is_known_folder(entry)) {
            Some(cached) => cached.is_ignored,
            None => self.context.rules.is_ignored(path, true) && !self.keeps_coverage(cached),
        }
    }

    fn has_tracked_below(&self, path: &RelativePath, cached: Option<&CachedEntry>) -> bool {
        match cached.filter(|entry| self.is_source_same && is_known_folder(entry)) {
            Some(cached) => cached.folder.is_some(),
            None => self.context.repository.tracks_below(path),
        }
    }

    fn is_git_objects(&self, name: &[u8]) -> bool {
        self.is_git_folder && (name == b"objects" || name == b"lfs")
    }

    fn walk_link(
        &self,
        name: &[u8],
        stamp: FileStamp,
        cached: Option<&CachedEntry>,
    ) -> Option<WalkedEntry> {
        if self.context.zone == WalkZone::InsideIgnored {
            let path = self.job.path.join(name);
            if !self.context.repository.tracks(&path) && !self.stays_covered(&path, cached) {
                return None;
            }
        }
        let image = match readlinkat(self.handle, name, Vec::new()) {
            Ok(target) => EntryImage::Link { target: target.into_bytes().into() },
            Err(rustix::io::Errno::NOENT) => return None,
            Err(_) => EntryImage::Uncovered {
                reason: UncoveredReason::Unstable,
                stamp: stamp.to_uncovered_stamp(),
            },
        };
        let name = name.into();
        let entry =
            CachedEntry { name, stamp, is_settled: false, is_ignored: false, image, folder: None };
        Some(WalkedEntry { entry, child: None })
    }
}

/// An empty folder that our sandbox creates in place of a missing protected one while a command
/// runs in the background. It is marked by the sticky bit.
fn is_placeholder(parent: &OwnedFd, name: &[u8], stat: &Stat) -> bool {
    mode_of(stat) & 0o7777 == PLACEHOLDER_MODE
        && open_child_folder(parent, name)
            .is_ok_and(|folder| list_folder(&folder).is_ok_and(|names| names.is_empty()))
}

/// Whether the cached entry is of a folder; the answer for a file of the same name does not apply.
fn is_known_folder(entry: &CachedEntry) -> bool {
    file_type_of(entry.stamp.mode) == FileType::Directory
}

fn uncovered_entry(reason: UncoveredReason) -> WalkedEntry {
    let entry = CachedEntry {
        name: Box::default(),
        stamp: FileStamp {
            modified_seconds: 0,
            modified_nanos: 0,
            changed_seconds: 0,
            changed_nanos: 0,
            size: 0,
            inode: 0,
            mode: 0,
        },
        is_settled: false,
        is_ignored: false,
        image: EntryImage::Uncovered { reason, stamp: UncoveredStamp::default() },
        folder: None,
    };
    WalkedEntry { entry, child: None }
}

/// Sorted. Cached names lack those the earlier look excluded; every look excludes the same.
fn list_names(job: &WalkJob, handle: &OwnedFd) -> rustix::io::Result<Vec<Box<[u8]>>> {
    if let Some(cached) = job.cached.as_ref().filter(|_| job.has_cached_names) {
        return Ok(cached.names().map(Box::from).collect());
    }
    let mut names = list_folder(handle)?;
    names.sort_unstable();
    Ok(names)
}

fn contains(names: &[Box<[u8]>], name: &[u8]) -> bool {
    names.binary_search_by(|other| other.as_ref().cmp(name)).is_ok()
}
