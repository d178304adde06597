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

mod placeholder;
mod root_watch;
mod saved_entry;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RenameFlags, ResolveFlags};

use crate::error::SandboxPlanRefused;
use crate::protected_names::{self, PROTECTED_IN_GIT};
use placeholder::{DirectoryPlaceholder, PlaceholderPool};
use root_watch::RootWatch;
use saved_entry::{CaptureBudget, SavedEntry};

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
    git: GitEntryKind,
    /// The directory itself, to find it again wherever it was moved.
    repository: Option<OwnedFd>,
    mounted: Vec<MountedPath>,
    /// Placeholders with nothing in them to be seen.
    held: Vec<PathBuf>,
    /// By path below the root; parents first.
    originals: BTreeMap<PathBuf, SavedEntry>,
    is_bare: bool,
    duration: Mutex<GuardDuration>,
    /// Kept as long as the mounts on them are needed.
    _placeholders: Vec<DirectoryPlaceholder>,
    /// What others were seen to have made or changed meanwhile.
    accepted: Mutex<BTreeSet<PathBuf>>,
    revert_lock: Mutex<()>,
    seen: Mutex<SeenChanges>,
    watch: Mutex<Option<RootWatch>>,
}

/// What was seen while the command ran.
#[derive(Debug, Default)]
struct SeenChanges {
    /// Taken back at once.
    reverted: Vec<RevertedProtectedFile>,
    /// Put by others in the place of what a mount held, as it was then. The mount is gone with it.
    replaced: BTreeMap<PathBuf, SavedEntry>,
}

/// Taken back at once so often; what comes after that is taken back at the end.
const SEEN_MAX: usize = 64;

/// What a mount holds. A program outside that puts another file in its place, as editors and git do, takes
/// the mount away.
#[derive(Debug)]
struct MountedPath {
    /// Below the root.
    path: PathBuf,
    identity: Option<(u64, u64)>,
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
}

impl GuardedRoots {
    /// The comparison of a root: the one under way, or a new one. That of a command that goes on running
    /// is its own: others would be compared with how things were long ago.
    pub(crate) fn guard(
        &self,
        root: &Path,
        more: &[PathBuf],
        method: GuardMethod,
        duration: GuardDuration,
    ) -> Result<Arc<GuardedRoot>, SandboxPlanRefused> {
        let mut roots = lock(&self.roots);
        roots.retain(|_, watched| watched.strong_count() > 0);
        let is_shared = duration == GuardDuration::Foreground;
        let under_way = roots.get(root).and_then(Weak::upgrade);
        if let Some(watched) = under_way.filter(|one| is_shared && one.duration() == duration) {
            return Ok(watched);
        }
        let begun = open_path(&CWD, root).and_then(|directory| {
            let held = hold_placeholders(&self.placeholders, root, &directory, method, duration)?;
            Ok((directory, held))
        });
        let captured = begun.and_then(|(directory, held)| {
            GuardedRoot::capture_root(root, directory, held, more, method, duration)
        });
        let watched = captured.map_err(|error| {
            SandboxPlanRefused::new(format!("`{}` cannot be looked at: {error}", root.display()))
        })?;
        let watched = Arc::new(watched);
        if is_shared {
            watched.start_watch();
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
            let changed = root.list_changes();
            lock(&root.accepted).extend(changed);
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
    fn capture_root(
        root: &Path,
        directory: OwnedFd,
        placeholders: Vec<DirectoryPlaceholder>,
        more: &[PathBuf],
        method: GuardMethod,
        duration: GuardDuration,
    ) -> rustix::io::Result<Self> {
        let has_no_git =
            placeholders.iter().any(|one| protected_names::is_git_directory(one.name()));
        let git = match SavedEntry::read_kind(&directory, OsStr::new(".git"))? {
            None => GitEntryKind::None,
            Some(_) if has_no_git => GitEntryKind::None,
            Some(kind) if kind.is_dir() => GitEntryKind::Directory,
            Some(_) => GitEntryKind::Other,
        };
        let repository =
            (git == GitEntryKind::Directory).then(|| open_path(&directory, ".git")).transpose()?;
        let mut paths: Vec<PathBuf> = protected_names::list_protected_names()
            .filter(|name| {
                !(protected_names::is_git_directory(name) && git == GitEntryKind::Directory)
            })
            .map(PathBuf::from)
            .collect();
        paths.extend(more.iter().filter_map(|path| Some(path.strip_prefix(root).ok()?.into())));
        if git == GitEntryKind::Directory {
            paths.extend(PROTECTED_IN_GIT.iter().map(|name| Path::new(".git").join(name)));
        }
        let is_held = |path: &Path| {
            let placeholder = placeholders.iter().find(|one| Path::new(one.name()) == path);
            duration == GuardDuration::Foreground && placeholder.is_some_and(|one| one.is_empty())
        };
        let (mut mounted, mut held) = (Vec::new(), Vec::new());
        let mut originals = BTreeMap::new();
        for path in paths {
            let saved = capture_path(&directory, &path, method)?;
            if matches!(saved, SavedEntry::Mounted) && is_held(&path) {
                held.push(root.join(&path));
            } else if matches!(saved, SavedEntry::Mounted) {
                let identity = read_identity(&directory, &path);
                mounted.push(MountedPath { path, identity });
            } else {
                originals.insert(path, saved);
            }
        }
        let is_bare = is_bare(&directory);
        Ok(Self {
            duration: Mutex::new(duration),
            _placeholders: placeholders,
            root: root.to_path_buf(),
            directory,
            git,
            repository,
            mounted,
            held,
            originals,
            is_bare,
            accepted: Mutex::default(),
            revert_lock: Mutex::new(()),
            seen: Mutex::default(),
            watch: Mutex::default(),
        })
    }

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
        if self.duration() != GuardDuration::Foreground {
            return;
        }
        let _turn = lock(&self.revert_lock);
        let mut seen = lock(&self.seen);
        let now = capture_path(&self.directory, path, GuardMethod::Nothing);
        match (self.originals.get(path), now) {
            (Some(SavedEntry::Absent), Ok(now)) => {
                // What may be in it comes later; the end shows what else is.
                let is_partly_open = Path::new(protected_names::WRITABLE_IN_PROTECTED.0) == path
                    && matches!(now, SavedEntry::Directory { .. });
                let is_left = is_partly_open || placeholder::stands_at(&self.directory, path);
                if now != SavedEntry::Absent && !is_left && seen.reverted.len() < SEEN_MAX {
                    seen.reverted.extend(self.revert_path(path, &SavedEntry::Absent));
                }
            }
            // The first time it was not the command: a mount kept it from that. Later nobody knows.
            (None, Ok(now)) if self.is_replaced(path) => {
                seen.replaced.entry(path.to_owned()).or_insert(now);
            }
            (Some(_) | None, _) => {}
        }
    }

    fn is_replaced(&self, path: &Path) -> bool {
        let mounted = self.mounted.iter().find(|mounted| mounted.path == path);
        mounted.is_some_and(|one| read_identity(&self.directory, path) != one.identity)
    }

    pub(crate) fn is_git_directory(&self) -> bool {
        self.git == GitEntryKind::Directory
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
        self.held.iter().cloned()
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
        let SeenChanges { reverted, replaced } = std::mem::take(&mut *lock(&self.seen));
        changes.reverted.extend(reverted);
        for (path, before) in &replaced {
            let now = capture_path(&self.directory, path, GuardMethod::Nothing);
            if now.is_ok_and(|now| now != *before) {
                changes.reverted.extend(self.revert_path(path, before));
            }
        }
        let is_back = |path: &PathBuf| changes.reverted.iter().any(|one| one.path == *path);
        let replaced: Vec<PathBuf> = self.list_replaced();
        let told: Vec<PathBuf> = replaced.into_iter().filter(|path| !is_back(path)).collect();
        changes.left_alone.extend(told);
        changes
    }

    /// What a process outside replaced, after which the command could write to it.
    fn list_replaced(&self) -> Vec<PathBuf> {
        let replaced = self
            .mounted
            .iter()
            .filter(|mounted| read_identity(&self.directory, &mounted.path) != mounted.identity);
        replaced.map(|mounted| self.root.join(&mounted.path)).collect()
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
        if !self.is_bare && is_bare(&self.directory) {
            paths.push(self.root.join("HEAD"));
        }
        paths
    }

    fn revert_changes(&self) -> Vec<RevertedProtectedFile> {
        let _turn = lock(&self.revert_lock);
        let mut reverted = Vec::new();
        reverted.extend(self.repository.as_ref().and_then(|git| self.restore_git_directory(git)));
        for (path, before) in &self.originals {
            let Ok(now) = capture_path(&self.directory, path, GuardMethod::Nothing) else {
                continue;
            };
            if now != *before {
                reverted.extend(self.revert_path(path, before));
            }
        }
        // Four names at the top make any directory a repository, with a configuration of its own.
        if !self.is_bare && is_bare(&self.directory) {
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

/// Takes hold of directories that stand for missing names. Those in `.git` are what git makes itself, so
/// they are made and stay.
fn hold_placeholders(
    pool: &Arc<PlaceholderPool>,
    path: &Path,
    root: &OwnedFd,
    method: GuardMethod,
    duration: GuardDuration,
) -> rustix::io::Result<Vec<DirectoryPlaceholder>> {
    if method != GuardMethod::Mounts {
        return Ok(Vec::new());
    }
    let mut held = Vec::new();
    // Many programs take a directory of that name for the top of a repository.
    let is_inside_repository = path.ancestors().skip(1).any(|above| above.join(".git").exists());
    let may_create = |name: &str| match duration {
        GuardDuration::Foreground => protected_names::HELD_IN_FOREGROUND.contains(&name),
        // The user could not make a file of that name for as long as the command runs.
        GuardDuration::Background => !protected_names::HELD_FILES.contains(&name),
    };
    let files = protected_names::HELD_FILES.iter().copied();
    for name in protected_names::list_protected_directories().chain(files) {
        let is_wanted =
            may_create(name) && !(is_inside_repository && protected_names::is_git_directory(name));
        held.extend(DirectoryPlaceholder::hold(pool, root, OsStr::new(name), is_wanted)?);
    }
    let is_git = |one: &DirectoryPlaceholder| protected_names::is_git_directory(one.name());
    if !held.iter().any(is_git)
        && let Ok(git) = open_path(root, ".git")
    {
        for name in protected_names::DIRECTORIES_IN_GIT {
            // Where it fails it is there, or nobody can make it.
            let _ = rustix::fs::mkdirat(&git, *name, Mode::from_raw_mode(0o755));
        }
    }
    Ok(held)
}

/// A directory to reach others through, and not a link to one.
fn open_path(at: &impl AsFd, path: impl AsRef<Path>) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(at, path.as_ref(), flags, Mode::empty())
}

/// The directory that holds a path below a root, without following any link. `None` when it is
/// not there, so nothing is in it.
fn open_parent<'a>(
    root: &'a OwnedFd,
    path: &Path,
) -> rustix::io::Result<Option<GuardedParent<'a>>> {
    let parent = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => return Ok(Some(GuardedParent::Root(root))),
    };
    let opened = rustix::fs::openat2(
        root,
        parent,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    );
    match opened {
        Ok(parent) => Ok(Some(GuardedParent::Below(parent))),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Most guarded paths are at the top, which is open already.
enum GuardedParent<'a> {
    Root(&'a OwnedFd),
    Below(OwnedFd),
}

impl AsFd for GuardedParent<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Root(root) => root.as_fd(),
            Self::Below(parent) => parent.as_fd(),
        }
    }
}

/// With a budget of its own for each path, so that two looks at the same thing are alike.
fn capture_path(
    root: &OwnedFd,
    path: &Path,
    method: GuardMethod,
) -> rustix::io::Result<SavedEntry> {
    let Some(name) = path.file_name() else {
        return Ok(SavedEntry::Absent);
    };
    let Some(parent) = open_parent(root, path)? else {
        return Ok(SavedEntry::Absent);
    };
    let Some(kind) = SavedEntry::read_kind(&parent, name)? else {
        return Ok(SavedEntry::Absent);
    };
    if method == GuardMethod::Mounts && (kind.is_dir() || kind.is_file()) {
        return Ok(SavedEntry::Mounted);
    }
    let (outer, inner) = protected_names::WRITABLE_IN_PROTECTED;
    let spared = (Path::new(outer) == path).then(|| OsStr::new(inner));
    SavedEntry::capture(&parent, name, spared, &mut CaptureBudget::for_one_path())
}

fn read_identity(root: &OwnedFd, path: &Path) -> Option<(u64, u64)> {
    let stat = rustix::fs::statat(root, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some((stat.st_dev, stat.st_ino))
}

fn is_bare(root: &OwnedFd) -> bool {
    ["HEAD", "objects", "refs"]
        .iter()
        .all(|name| matches!(SavedEntry::read_kind(&root.as_fd(), OsStr::new(name)), Ok(Some(_))))
}

/// Nothing is left half-done under these locks, so a poisoned one is as good as new.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
