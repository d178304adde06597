//! Captures a root before a command runs: what is mounted, what placeholders stand for, and what is
//! only compared.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::Mode;

use super::configured_places::list_configured_places;
use super::guarded_path::{capture_path, is_bare, open_path, read_identity};
use super::nested_repositories::NestedRepositories;
use super::placeholder::{DirectoryPlaceholder, PlaceholderPool};
use super::saved_entry::SavedEntry;
use super::{GitEntryKind, GuardDuration, GuardMethod, GuardedRoot, MountedPath, RootRepository};
use crate::protected_names::{self, PROTECTED_IN_GIT};

/// A root, and how it is protected.
pub(super) struct RootToGuard<'a> {
    pub(super) path: &'a Path,
    /// Further paths that must not change.
    pub(super) protected: &'a [PathBuf],
    pub(super) method: GuardMethod,
    pub(super) duration: GuardDuration,
}

impl GuardedRoot {
    pub(super) fn capture(
        root: &RootToGuard<'_>,
        directory: OwnedFd,
        placeholders: Vec<DirectoryPlaceholder>,
    ) -> rustix::io::Result<Self> {
        let git = RootRepository::capture(&directory, &placeholders)?;
        let mut captured = CapturedPaths::default();
        let is_held = |path: &Path| {
            let placeholder = placeholders.iter().find(|one| Path::new(one.name()) == path);
            let is_empty = placeholder.is_some_and(DirectoryPlaceholder::is_empty);
            root.duration == GuardDuration::Foreground && is_empty
        };
        for path in list_guarded_paths(root, git.kind) {
            let saved = capture_path(&directory, &path, root.method)?;
            match saved {
                SavedEntry::Mounted if is_held(&path) => captured.held.push(path),
                SavedEntry::Mounted => captured.add_mounted(&directory, path),
                SavedEntry::Absent
                | SavedEntry::Link(_)
                | SavedEntry::File { .. }
                | SavedEntry::Directory { .. }
                | SavedEntry::Stamp { .. } => drop(captured.originals.insert(path, saved)),
            }
        }
        for path in list_configured_places(root.path) {
            captured.add_configured(&directory, path, root.method)?;
        }
        let CapturedPaths { mounted, held, originals } = captured;
        Ok(Self {
            duration: Mutex::new(root.duration),
            _placeholders: placeholders,
            root: root.path.to_path_buf(),
            method: root.method,
            directory,
            git,
            mounted,
            held,
            originals,
            accepted: Mutex::default(),
            revert_lock: Mutex::new(()),
            seen: Mutex::default(),
            watch: Mutex::default(),
            nested: NestedRepositories::default(),
            sandboxes: Mutex::default(),
        })
    }
}

impl RootRepository {
    fn capture(root: &OwnedFd, placeholders: &[DirectoryPlaceholder]) -> rustix::io::Result<Self> {
        let has_none = placeholders.iter().any(|one| protected_names::is_git_directory(one.name()));
        let kind = match SavedEntry::read_kind(root, OsStr::new(".git"))? {
            None => GitEntryKind::None,
            Some(_) if has_none => GitEntryKind::None,
            Some(kind) if kind.is_dir() => GitEntryKind::Directory,
            Some(_) => GitEntryKind::Other,
        };
        let directory =
            (kind == GitEntryKind::Directory).then(|| open_path(root, ".git")).transpose()?;
        Ok(Self { kind, directory, is_bare: is_bare(root) })
    }
}

/// Paths relative to a root.
#[derive(Default)]
struct CapturedPaths {
    mounted: Vec<MountedPath>,
    held: Vec<PathBuf>,
    originals: BTreeMap<PathBuf, SavedEntry>,
}

impl CapturedPaths {
    fn add_mounted(&mut self, root: &OwnedFd, path: PathBuf) {
        let identity = read_identity(root, &path);
        self.mounted.push(MountedPath { path, identity });
    }

    fn add_configured(
        &mut self,
        root: &OwnedFd,
        path: PathBuf,
        method: GuardMethod,
    ) -> rustix::io::Result<()> {
        let is_mounted = matches!(capture_path(root, &path, method)?, SavedEntry::Mounted);
        let is_at_top = path.parent() == Some(Path::new(""));
        if is_mounted {
            self.add_mounted(root, path.clone());
        }
        // A deeper mount could be bypassed by renaming a parent directory.
        if !is_mounted || !is_at_top {
            let content = capture_path(root, &path, GuardMethod::Nothing)?;
            self.originals.entry(path).or_insert(content);
        }
        Ok(())
    }
}

fn list_guarded_paths(root: &RootToGuard<'_>, git: GitEntryKind) -> Vec<PathBuf> {
    let has_git = git == GitEntryKind::Directory;
    let is_listed = |name: &&str| !(has_git && protected_names::is_git_directory(name));
    let mut paths: Vec<PathBuf> =
        protected_names::list_protected_names().filter(is_listed).map(PathBuf::from).collect();
    let below = |path: &PathBuf| Some(path.strip_prefix(root.path).ok()?.to_owned());
    paths.extend(root.protected.iter().filter_map(below));
    if has_git {
        paths.extend(PROTECTED_IN_GIT.iter().map(|name| Path::new(".git").join(name)));
    }
    paths
}

/// Creates placeholders for missing names. Those in `.git` are what git creates itself, so they are
/// permanent.
pub(super) fn hold_placeholders(
    pool: &Arc<PlaceholderPool>,
    guarded: &RootToGuard<'_>,
    root: &OwnedFd,
) -> rustix::io::Result<Vec<DirectoryPlaceholder>> {
    let are_created = match guarded.method {
        GuardMethod::Nothing => return Ok(Vec::new()),
        GuardMethod::Mounts => true,
        // Those left by a killed process are still found.
        GuardMethod::MountsAndSupervisor => false,
    };
    let mut held = Vec::new();
    // Many programs recognize the top of a repository by a directory with that name.
    let is_inside_repository =
        guarded.path.ancestors().skip(1).any(|above| above.join(".git").exists());
    let may_create = |name: &str| match guarded.duration {
        GuardDuration::Foreground => protected_names::HELD_IN_FOREGROUND.contains(&name),
        // The user could not create a file with that name while the command runs.
        GuardDuration::Background => !protected_names::HELD_FILES.contains(&name),
    };
    let files = protected_names::HELD_FILES.iter().copied();
    for name in protected_names::list_protected_directories().chain(files) {
        let is_wanted = are_created
            && may_create(name)
            && !(is_inside_repository && protected_names::is_git_directory(name));
        held.extend(DirectoryPlaceholder::hold(pool, root, OsStr::new(name), is_wanted)?);
    }
    let is_git = |one: &DirectoryPlaceholder| protected_names::is_git_directory(one.name());
    if are_created
        && !held.iter().any(is_git)
        && let Ok(git) = open_path(root, ".git")
    {
        for name in protected_names::DIRECTORIES_IN_GIT {
            // If this fails, it exists, or cannot be created by the command either.
            let _ = rustix::fs::mkdirat(&git, *name, Mode::from_raw_mode(0o755));
        }
    }
    Ok(held)
}
