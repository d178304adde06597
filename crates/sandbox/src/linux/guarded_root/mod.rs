//! Guards protected paths in a writable root, and reverts changes to them.
//!
//! Mounts protect existing files. They cannot protect missing ones without a mount point, and
//! Landlock cannot protect anything inside a writable directory. So placeholders are created for
//! missing protected directories. Other paths are compared after the command and all its children
//! have ended, before its result is returned: new or changed ones are moved aside, and the old
//! content is restored. While a background command runs, others work too: changes they are known to
//! have made, and changes of existing files, are only reported.
//!
//! Overlapping commands share one comparison, captured when the first of them started; otherwise
//! what the first one changed would be the baseline of the second.

mod configured_places;
mod directory_index;
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
    /// Was the old content restored? If not, it was too large to keep.
    pub is_restored: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuardMethod {
    /// What exists is mounted, and placeholders are mounted for some of what is missing.
    Mounts,
    /// What exists is mounted, and a supervisor refuses to create what is missing.
    MountsAndSupervisor,
    /// Not protected: it is only compared.
    Nothing,
}

/// The captured state of a root's guarded paths.
#[derive(Debug)]
pub(crate) struct GuardedRoot {
    root: PathBuf,
    method: GuardMethod,
    directory: OwnedFd,
    git: RootRepository,
    mounted: Vec<MountedPath>,
    /// Placeholders that look empty to the command.
    held: Vec<PathBuf>,
    /// By path relative to the root; parents first.
    originals: BTreeMap<PathBuf, SavedEntry>,
    duration: Mutex<GuardDuration>,
    /// Kept as long as the mounts on them are needed.
    _placeholders: Vec<DirectoryPlaceholder>,
    /// Changes known to be made by others.
    accepted: Mutex<BTreeSet<PathBuf>>,
    revert_lock: Mutex<()>,
    seen: Mutex<SeenChanges>,
    watch: Mutex<Option<RootWatch>>,
    /// Repositories below the root.
    nested: NestedRepositories,
    /// Running sandboxes with this root.
    sandboxes: Mutex<Vec<Weak<RunningSandbox>>>,
}

/// The root's own repository.
#[derive(Debug)]
struct RootRepository {
    kind: GitEntryKind,
    /// The directory itself, to find it even if it was moved.
    directory: Option<OwnedFd>,
    is_bare: bool,
}

/// Changes detected while the command ran.
#[derive(Debug, Default)]
struct SeenChanges {
    /// Changes that were reverted at once.
    reverted: Vec<RevertedProtectedFile>,
    /// New content of files that others replaced, whose mounts are lost.
    replaced: BTreeMap<PathBuf, SavedEntry>,
}

type FileIdentity = (u64, u64);

/// Limit on immediate reverts; later changes are reverted at the end.
const SEEN_MAX: usize = 64;

/// A mounted path. If a program outside replaces the file, as editors and git do, the mount is
/// lost.
#[derive(Debug)]
struct MountedPath {
    /// Relative to the root.
    path: PathBuf,
    identity: Option<FileIdentity>,
}

/// How long the command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuardDuration {
    /// Until its result is returned: no others are expected to write there meanwhile.
    Foreground,
    /// After its result was returned: others may write there at the same time.
    Background,
}

/// The result of comparing a root's guarded paths.
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
    /// Returns the guard of a root: the current one, or a new one. A background command gets its
    /// own: sharing it would compare others with an old state.
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
        // A foreground command may be moved to the background later.
        let mut running = lock(&self.running);
        running.retain(|watched| watched.strong_count() > 0);
        running.push(Arc::downgrade(&watched));
        Ok(watched)
    }

    /// Current differences are not attributed to background commands, and not reported at their
    /// end.
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

    /// Watches guarded paths, to detect new files at once.
    fn start_watch(self: &Arc<Self>) {
        let missing = self.originals.iter().filter(|(_, saved)| self.may_be_created(saved));
        let missing = missing.map(|(path, _)| path.clone());
        let paths: Vec<PathBuf> =
            missing.chain(self.mounted.iter().map(|mounted| mounted.path.clone())).collect();
        *lock(&self.watch) = RootWatch::start(self, &paths).ok();
    }

    /// Handles a new or replaced file at a guarded name.
    fn handle_new_name(&self, path: &Path) {
        let _turn = lock(&self.revert_lock);
        let mut seen = lock(&self.seen);
        let now = capture_path(&self.directory, path, GuardMethod::Nothing);
        match (self.originals.get(path), now) {
            (Some(SavedEntry::Absent), Ok(now)) if self.is_waited_for() => {
                // A directory may be filled later; the end of the command shows the rest.
                let is_partly_open = Path::new(protected_names::WRITABLE_IN_PROTECTED.0) == path
                    && matches!(now, SavedEntry::Directory { .. });
                let is_left =
                    is_partly_open || placeholder::is_placeholder_at(&self.directory, path);
                if now != SavedEntry::Absent && !is_left && seen.reverted.len() < SEEN_MAX {
                    seen.reverted.extend(self.revert_path(path, &SavedEntry::Absent));
                }
            }
            // The first time the command cannot have done it, because a mount prevented that.
            (_, Ok(now)) if now != SavedEntry::Absent && self.is_replaced(path) => {
                self.renew_mount(path, now, &mut seen);
            }
            (Some(_) | None, _) => {}
        }
    }

    /// Mounts a file that a program outside put in the place of a mounted one. It is still
    /// reported, because the command could write to it in between.
    fn renew_mount(&self, path: &Path, now: SavedEntry, seen: &mut SeenChanges) {
        let put = seen.replaced.entry(path.to_owned()).or_insert(now).clone();
        let whole = self.root.join(path);
        let sandboxes: Vec<_> = lock(&self.sandboxes).iter().filter_map(Weak::upgrade).collect();
        let is_held = sandboxes.iter().all(|sandbox| sandbox.hold_again(&whole));
        let after = capture_path(&self.directory, path, GuardMethod::Nothing);
        if is_held && after.is_ok_and(|after| after == put) {
            // The new content is protected from now on.
            seen.replaced.remove(path);
        }
    }

    fn is_waited_for(&self) -> bool {
        self.duration() == GuardDuration::Foreground
    }

    /// Registers a sandbox, so that its lost mounts are renewed.
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

    /// Existing paths other than symlinks, to be mounted.
    pub(crate) fn mounted_paths(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.mounted.iter().map(|mounted| self.root.join(&mounted.path))
    }

    fn duration(&self) -> GuardDuration {
        *lock(&self.duration)
    }

    /// A foreground command moves to the background.
    pub(crate) fn continue_in_background(&self) {
        *lock(&self.duration) = GuardDuration::Background;
    }

    /// Missing paths that are protected by a mounted placeholder.
    pub(crate) fn held_paths(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.held.iter().map(|path| self.root.join(path))
    }

    /// Names that the command must not create: those that are missing, and those that exist, which
    /// something outside may remove, or the command itself if it is a link.
    pub(crate) fn list_refused_names(&self) -> Vec<PathBuf> {
        let names = self.originals.keys().chain(self.mounted.iter().map(|one| &one.path));
        names.chain(&self.held).map(|path| self.root.join(path)).collect()
    }

    /// Compares the state, and reverts or reports changes. Must be called when no process of the
    /// command is running.
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

    /// Files replaced by processes outside, which the command could then write to.
    fn list_replaced(&self) -> Vec<PathBuf> {
        let paths = self.mounted.iter().map(|mounted| mounted.path.as_path());
        let replaced = paths.filter(|path| self.is_replaced(path));
        replaced.map(|path| self.root.join(path)).collect()
    }

    /// Moves new files aside unless others are known to have made them. Other changes are only
    /// reported: existing files are mounted, so the command did not change them.
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

    /// Was it missing, and could the command create it? With a supervisor it cannot, so another
    /// process has created what is new.
    fn may_be_created(&self, before: &SavedEntry) -> bool {
        let is_absent = matches!(before, SavedEntry::Absent);
        is_absent && self.method != GuardMethod::MountsAndSupervisor
    }

    /// Could the command have changed it?
    fn may_be_changed(&self, before: &SavedEntry) -> bool {
        !matches!(before, SavedEntry::Absent) || self.may_be_created(before)
    }

    fn list_changes(&self) -> Vec<PathBuf> {
        let is_changed = |path: &Path, before: &SavedEntry| {
            let now = capture_path(&self.directory, path, GuardMethod::Nothing);
            self.may_be_changed(before) && now.is_ok_and(|now| now != *before)
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
            if now != *before && self.may_be_changed(before) {
                reverted.extend(self.revert_path(path, before));
            }
        }
        // These four names make any directory a bare repository with its own configuration.
        if !self.git.is_bare && is_bare(&self.directory) {
            reverted.extend(self.revert_path(Path::new("HEAD"), &SavedEntry::Absent));
        }
        reverted
    }

    /// Moves the git directory back, and what replaced it aside.
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
        // The kernel knows its current path; a deleted directory has none.
        let now = std::fs::read_link(format!("/proc/self/fd/{}", git.as_raw_fd())).ok()?;
        let _ = rustix::fs::renameat_with(CWD, &now, &self.directory, name, RenameFlags::NOREPLACE);
        Some(RevertedProtectedFile {
            path: self.root.join(name),
            moved_to: moved_to.map(|moved_to| self.root.join(moved_to)),
            is_restored: is_there() == Some(true),
        })
    }

    /// Moves the current content aside, and restores the old one.
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

/// No update under these locks can be left half done, so poisoning is ignored.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
