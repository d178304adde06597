//! What must not change at the top of a writable root, and taking it back when it did.
//!
//! Mounts hold what exists. They cannot hold what does not exist yet without something to mount on,
//! and Landlock cannot hold anything inside a directory it lets be written. So empty directories are made
//! for protected ones that are missing. The rest is compared when the command and all its children are
//! gone, before its result is given to anyone: what is new or different is moved aside, and what was
//! there is put back. Beside a command that went on running others have worked: what they are known
//! to have made, and what was there before, is only told.
//!
//! Commands that overlap share one comparison, made when the first of them started; otherwise the
//! second would take what the first has planted for the way things were.

mod configured_places;
mod directory_index;
mod git_config_text;
mod guarded_path;
mod nested_repositories;
mod placeholder;
mod root_capture;
mod root_watch;
mod saved_entry;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustix::fs::{AtFlags, CWD, RenameFlags};

use super::mount_renewal::RunningSandbox;
use crate::error::SandboxPlanRefusal;
use crate::protected_names;
use directory_index::DirectoryIndex;
use guarded_path::{capture_path, is_bare, open_parent, open_path, read_identity};
use nested_repositories::{NestedRepositories, PlantedEntry};
use placeholder::{DirectoryPlaceholder, PlaceholderPool};
use root_capture::{RootToGuard, hold_placeholders};
use root_watch::RootWatch;
use saved_entry::SavedEntry;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevertedProtectedFile {
    pub path: PathBuf,
    pub moved_to: Option<PathBuf>,
    /// Is what was there before there again? Otherwise it was too large to keep.
    pub is_restored: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuardMethod {
    Mounts,
    /// Not at all: it is compared like everything else.
    Nothing,
}

/// The guarded paths of one root, as they were.
#[derive(Debug)]
pub(crate) struct GuardedRoot {
    root: PathBuf,
    directory: OwnedFd,
    git: RootRepository,
    mounted: Vec<MountedPath>,
    /// Placeholders with nothing in them to be seen.
    held: Vec<PathBuf>,
    /// By path below the root; parents first.
    originals: BTreeMap<PathBuf, SavedEntry>,
    duration: Mutex<GuardDuration>,
    /// Kept as long as the mounts on them are needed.
    _placeholders: Vec<DirectoryPlaceholder>,
    /// What others were seen to have made or changed meanwhile.
    accepted: Mutex<BTreeSet<PathBuf>>,
    revert_lock: Mutex<()>,
    seen: Mutex<SeenChanges>,
    watch: Mutex<Option<RootWatch>>,
    /// Repositories below it.
    nested: NestedRepositories,
    /// Those that started on it.
    sandboxes: Mutex<Vec<Weak<RunningSandbox>>>,
}

/// What the root itself has of git.
#[derive(Debug)]
struct RootRepository {
    kind: GitEntryKind,
    /// The directory itself, to find it again wherever it was moved.
    directory: Option<OwnedFd>,
    is_bare: bool,
}

/// What was seen while the command ran.
#[derive(Debug, Default)]
struct SeenChanges {
    /// Taken back at once.
    reverted: Vec<RevertedProtectedFile>,
    /// Put by others in the place of what a mount held, as it was then. The mount is gone with it.
    replaced: BTreeMap<PathBuf, SavedEntry>,
}

type FileIdentity = (u64, u64);

/// Taken back at once so often; what comes after that is taken back at the end.
const SEEN_MAX: usize = 64;

/// What a mount holds. A program outside that puts another file in its place, as editors and git do, takes
/// the mount away.
#[derive(Debug)]
struct MountedPath {
    /// Below the root.
    path: PathBuf,
    identity: Option<FileIdentity>,
}

/// How long the command runs whose root is guarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuardDuration {
    /// Until its result is given: nobody else is supposed to write there meanwhile.
    Foreground,
    /// Beside other work.
    Background,
}

/// What became of the guarded paths of a root.
#[derive(Debug, Default)]
pub(crate) struct GuardedRootChanges {
    pub(crate) reverted: Vec<RevertedProtectedFile>,
    pub(crate) left_alone: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GitEntryKind {
    None,
    Directory,
    Other,
}

#[derive(Debug, Default)]
pub(crate) struct GuardedRoots {
    roots: Mutex<BTreeMap<PathBuf, Weak<GuardedRoot>>>,
    running: Mutex<Vec<Weak<GuardedRoot>>>,
    placeholders: Arc<PlaceholderPool>,
    indexes: Mutex<BTreeMap<PathBuf, Arc<Mutex<DirectoryIndex>>>>,
}

impl GuardedRoots {
    /// The comparison of a root: the one under way, or a new one. That of a command that goes on running
    /// is its own: others would be compared with how things were long ago.
    pub(crate) fn guard(
        &self,
        root: &Path,
        protected: &[PathBuf],
        method: GuardMethod,
        duration: GuardDuration,
    ) -> Result<Arc<GuardedRoot>, SandboxPlanRefusal> {
        let mut roots = lock(&self.roots);
        roots.retain(|_, watched| watched.strong_count() > 0);
        let is_shared = duration == GuardDuration::Foreground;
        let under_way = roots.get(root).and_then(Weak::upgrade);
        if let Some(watched) = under_way.filter(|one| is_shared && one.duration() == duration) {
            return Ok(watched);
        }
        let guarded = RootToGuard { path: root, protected, method, duration };
        let captured = open_path(&CWD, root).and_then(|directory| {
            let held = hold_placeholders(&self.placeholders, &guarded, &directory)?;
            GuardedRoot::capture(&guarded, directory, held)
        });
        let mut watched = captured.map_err(|error| {
            SandboxPlanRefusal::new(format!("`{}` cannot be looked at: {error}", root.display()))
        })?;
        let index = Arc::clone(lock(&self.indexes).entry(root.to_path_buf()).or_default());
        watched.nested = NestedRepositories::capture(root, &watched.directory, index);
        let watched = Arc::new(watched);
        watched.start_watch();
        if is_shared {
            roots.insert(root.to_path_buf(), Arc::downgrade(&watched));
        }
        // One in the foreground may be sent into the background later.
        let mut running = lock(&self.running);
        running.retain(|watched| watched.strong_count() > 0);
        running.push(Arc::downgrade(&watched));
        Ok(watched)
    }

    /// What differs now is not put down to commands in the background, and is told at their end.
    pub(crate) fn accept_changes(&self) {
        for root in self.list_background() {
            let planted = root.nested.list_planted(&root.root, &root.directory);
            let planted = planted.into_iter().map(|one| root.root.join(one.path));
            lock(&root.accepted).extend(root.list_changes().into_iter().chain(planted));
        }
    }

    /// The same for one file.
    pub(crate) fn accept_change(&self, path: &Path) {
        for root in self.list_background() {
            lock(&root.accepted).insert(path.to_owned());
        }
    }

    fn list_background(&self) -> Vec<Arc<GuardedRoot>> {
        let running = lock(&self.running);
        let running = running.iter().filter_map(Weak::upgrade);
        running.filter(|root| root.duration() == GuardDuration::Background).collect()
    }
}

impl GuardedRoot {
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// From now on what comes to be at a guarded place is seen at once.
    fn start_watch(self: &Arc<Self>) {
        let missing =
            self.originals.iter().filter(|(_, saved)| matches!(saved, SavedEntry::Absent));
        let missing = missing.map(|(path, _)| path.clone());
        let paths: Vec<PathBuf> =
            missing.chain(self.mounted.iter().map(|mounted| mounted.path.clone())).collect();
        *lock(&self.watch) = RootWatch::start(self, &paths).ok();
    }

    /// A guarded name came to be, or something else has it now.
    fn handle_new_name(&self, path: &Path) {
        let _turn = lock(&self.revert_lock);
        let mut seen = lock(&self.seen);
        let now = capture_path(&self.directory, path, GuardMethod::Nothing);
        match (self.originals.get(path), now) {
            (Some(SavedEntry::Absent), Ok(now)) if self.is_waited_for() => {
                // What may be in it comes later; the end shows what else is.
                let is_partly_open = Path::new(protected_names::WRITABLE_IN_PROTECTED.0) == path
                    && matches!(now, SavedEntry::Directory { .. });
                let is_left =
                    is_partly_open || placeholder::is_placeholder_at(&self.directory, path);
                if now != SavedEntry::Absent && !is_left && seen.reverted.len() < SEEN_MAX {
                    seen.reverted.extend(self.revert_path(path, &SavedEntry::Absent));
                }
            }
            // The first time it was not the command: a mount kept it from that.
            (_, Ok(now)) if now != SavedEntry::Absent && self.is_replaced(path) => {
                self.renew_mount(path, now, &mut seen);
            }
            (Some(_) | None, _) => {}
        }
    }

    /// Holds what a program outside put in the place of what a mount held. It is told all the same: for as long
    /// as that takes, the command could write there.
    fn renew_mount(&self, path: &Path, now: SavedEntry, seen: &mut SeenChanges) {
        let put = seen.replaced.entry(path.to_owned()).or_insert(now).clone();
        let whole = self.root.join(path);
        let sandboxes: Vec<_> = lock(&self.sandboxes).iter().filter_map(Weak::upgrade).collect();
        let is_held = sandboxes.iter().all(|sandbox| sandbox.hold_again(&whole));
        let after = capture_path(&self.directory, path, GuardMethod::Nothing);
        if is_held && after.is_ok_and(|after| after == put) {
            // What changes from now on is not the command's doing.
            seen.replaced.remove(path);
        }
    }

    fn is_waited_for(&self) -> bool {
        self.duration() == GuardDuration::Foreground
    }

    /// From now on it is told of what others put in the place of what its mounts hold.
    pub(crate) fn add_sandbox(&self, sandbox: &Arc<RunningSandbox>) {
        let mut sandboxes = lock(&self.sandboxes);
        sandboxes.retain(|sandbox| sandbox.strong_count() > 0);
        sandboxes.push(Arc::downgrade(sandbox));
    }

    fn is_replaced(&self, path: &Path) -> bool {
        let mounted = self.mounted.iter().find(|mounted| mounted.path == path);
        mounted.is_some_and(|one| read_identity(&self.directory, path) != one.identity)
    }

    pub(crate) fn is_git_directory(&self) -> bool {
        self.git.kind == GitEntryKind::Directory
    }

    /// What exists and is no link, for a mount to hold.
    pub(crate) fn mounted_paths(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.mounted.iter().map(|mounted| self.root.join(&mounted.path))
    }

    fn duration(&self) -> GuardDuration {
        *lock(&self.duration)
    }

    /// A command that was waited for goes on beside other work.
    pub(crate) fn continue_in_background(&self) {
        *lock(&self.duration) = GuardDuration::Background;
    }

    /// What does not exist and is held by something that hides an empty directory.
    pub(crate) fn held_paths(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.held.iter().map(|path| self.root.join(path))
    }

    /// Compares, and takes back what changed, or tells of it. To be called when nothing of the command
    /// runs.
    pub(crate) fn settle(&self) -> GuardedRootChanges {
        let mut changes = match self.duration() {
            GuardDuration::Foreground => {
                GuardedRootChanges { reverted: self.revert_changes(), left_alone: Vec::new() }
            }
            GuardDuration::Background => self.revert_new_files(),
        };
        let mut seen = std::mem::take(&mut *lock(&self.seen));
        changes.reverted.append(&mut seen.reverted);
        for (path, before) in &seen.replaced {
            let now = capture_path(&self.directory, path, GuardMethod::Nothing);
            if self.is_waited_for() && now.is_ok_and(|now| now != *before) {
                changes.reverted.extend(self.revert_path(path, before));
            }
        }
        self.revert_planted(&mut changes);
        let is_back = |path: &PathBuf| changes.reverted.iter().any(|one| one.path == *path);
        let replaced: Vec<PathBuf> = self.list_replaced();
        let told: Vec<PathBuf> = replaced.into_iter().filter(|path| !is_back(path)).collect();
        changes.left_alone.extend(told);
        changes
    }

    /// The same for repositories below the root.
    fn revert_planted(&self, changes: &mut GuardedRootChanges) {
        let _turn = lock(&self.revert_lock);
        let accepted = lock(&self.accepted);
        for PlantedEntry { path, before } in self.nested.list_planted(&self.root, &self.directory) {
            let whole = self.root.join(&path);
            if accepted.contains(&whole) {
                changes.left_alone.push(whole);
            } else {
                changes.reverted.extend(self.revert_path(&path, &before));
            }
        }
    }

    /// What a process outside replaced, after which the command could write to it.
    fn list_replaced(&self) -> Vec<PathBuf> {
        let paths = self.mounted.iter().map(|mounted| mounted.path.as_path());
        let replaced = paths.filter(|path| self.is_replaced(path));
        replaced.map(|path| self.root.join(path)).collect()
    }

    /// What came to be and nobody else is known to have made is moved aside. The rest is told: what
    /// exists is held by mounts, so the command did not change it.
    fn revert_new_files(&self) -> GuardedRootChanges {
        let accepted = lock(&self.accepted);
        let mut changes = GuardedRootChanges::default();
        for path in self.list_changes() {
            let name = path.strip_prefix(&self.root).unwrap_or(&path);
            let was_absent = matches!(self.originals.get(name), Some(SavedEntry::Absent) | None);
            if was_absent && !accepted.contains(&path) {
                changes.reverted.extend(self.revert_path(name, &SavedEntry::Absent));
            } else {
                changes.left_alone.push(path);
            }
        }
        changes
    }

    fn list_changes(&self) -> Vec<PathBuf> {
        let is_changed = |path: &Path, before: &SavedEntry| {
            let now = capture_path(&self.directory, path, GuardMethod::Nothing);
            now.is_ok_and(|now| now != *before)
        };
        let changed = self.originals.iter().filter(|(path, before)| is_changed(path, before));
        let mut paths: Vec<PathBuf> = changed.map(|(path, _)| self.root.join(path)).collect();
        if !self.git.is_bare && is_bare(&self.directory) {
            paths.push(self.root.join("HEAD"));
        }
        paths
    }

    fn revert_changes(&self) -> Vec<RevertedProtectedFile> {
        let _turn = lock(&self.revert_lock);
        let mut reverted = Vec::new();
        reverted
            .extend(self.git.directory.as_ref().and_then(|git| self.restore_git_directory(git)));
        for (path, before) in &self.originals {
            let Ok(now) = capture_path(&self.directory, path, GuardMethod::Nothing) else {
                continue;
            };
            if now != *before {
                reverted.extend(self.revert_path(path, before));
            }
        }
        // Four names at the top make any directory a repository, with a configuration of its own.
        if !self.git.is_bare && is_bare(&self.directory) {
            reverted.extend(self.revert_path(Path::new("HEAD"), &SavedEntry::Absent));
        }
        reverted
    }

    /// Puts the directory of git where it was, and what stands there instead aside.
    fn restore_git_directory(&self, git: &OwnedFd) -> Option<RevertedProtectedFile> {
        let name = OsStr::new(".git");
        let is_there = || {
            let there =
                rustix::fs::statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            let before = rustix::fs::fstat(git).ok()?;
            Some((there.st_dev, there.st_ino) == (before.st_dev, before.st_ino))
        };
        if is_there() == Some(true) {
            return None;
        }
        let moved_to = saved_entry::move_aside(&self.directory, name);
        // The kernel knows where it is now; one that was removed has no such path.
        let now = std::fs::read_link(format!("/proc/self/fd/{}", git.as_raw_fd())).ok()?;
        let _ = rustix::fs::renameat_with(CWD, &now, &self.directory, name, RenameFlags::NOREPLACE);
        Some(RevertedProtectedFile {
            path: self.root.join(name),
            moved_to: moved_to.map(|moved_to| self.root.join(moved_to)),
            is_restored: is_there() == Some(true),
        })
    }

    /// Moves what is there out of the way and puts back what was.
    fn revert_path(&self, path: &Path, before: &SavedEntry) -> Option<RevertedProtectedFile> {
        let name = path.file_name()?;
        let parent = open_parent(&self.directory, path).ok()??;
        let moved_to = saved_entry::move_aside(&parent, name);
        let is_restored = before.restore(&parent, name);
        let moved_path = moved_to.map(|moved_to| self.root.join(path).with_file_name(moved_to));
        Some(RevertedProtectedFile {
            path: self.root.join(path),
            moved_to: moved_path,
            is_restored,
        })
    }
}

/// Nothing is left half-done under these locks, so a poisoned one is as good as new.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
