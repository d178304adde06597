//! Detects changes in repositories below a root that could make git run something.
//!
//! They cannot be protected while a command runs: a mount in a repository below the root could be
//! bypassed by renaming a parent directory, and commands legitimately clone, use submodules and
//! delete clones. So they are compared before and after. A new entry that a clone would not have (a
//! hook, a setting that may name a program, a symlink to another git directory) was planted by the
//! command.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::{Dir, FileType, Mode, OFlags};

use super::directory_index::{BELOW_WITHOUT_LINKS, DirectoryIndex};
use super::lock;
use super::saved_entry::{CaptureBudget, SavedEntry};
use crate::git_config_text::list_influential_lines;

/// Limit on the git directories examined.
const REPOSITORIES_MAX: usize = 512;
/// Submodules are named by paths, so their git directories are at most this deep below `modules`.
const MODULE_DEPTH_MAX: usize = 4;

/// The captured content of git directories below one root.
#[derive(Debug, Default)]
pub(super) struct NestedRepositories {
    index: Arc<Mutex<DirectoryIndex>>,
    /// By the directory's identity, in case it is moved.
    known: BTreeMap<DirectoryIdentity, GuardedEntries>,
}

type DirectoryIdentity = (u64, u64);

/// By path relative to the git directory. A missing entry counts as absent.
type GuardedEntries = BTreeMap<PathBuf, SavedEntry>;

/// A new entry that may make git run something.
#[derive(Debug)]
pub(super) struct PlantedEntry {
    /// Relative to the root.
    pub(super) path: PathBuf,
    pub(super) before: SavedEntry,
}

impl NestedRepositories {
    pub(super) fn capture(
        root: &Path,
        directory: &OwnedFd,
        index: Arc<Mutex<DirectoryIndex>>,
    ) -> Self {
        let found = find_git_directories(root, directory, &index);
        let known = found.into_iter().map(|git| (git.identity, git.entries)).collect();
        Self { index, known }
    }

    /// The entries planted since. Must be called when no process of the command is running.
    pub(super) fn list_planted(&self, root: &Path, directory: &OwnedFd) -> Vec<PlantedEntry> {
        let found = find_git_directories(root, directory, &self.index);
        let nothing = GuardedEntries::new();
        let mut planted = Vec::new();
        for git in found {
            let before = self.known.get(&git.identity).unwrap_or(&nothing);
            for (name, now) in git.entries {
                let before = before.get(&name).unwrap_or(&SavedEntry::Absent);
                if *before != now && extends_git(&name, before, &now) {
                    planted
                        .push(PlantedEntry { path: git.path.join(name), before: before.clone() });
                }
            }
        }
        planted
    }
}

#[derive(Default)]
struct GitDirectories {
    list: Vec<GitDirectory>,
}

struct GitDirectory {
    /// Relative to the root.
    path: PathBuf,
    identity: DirectoryIdentity,
    entries: GuardedEntries,
}

fn find_git_directories(
    root: &Path,
    directory: &OwnedFd,
    index: &Mutex<DirectoryIndex>,
) -> Vec<GitDirectory> {
    let found = lock(index).find_repositories(directory);
    let mut list = GitDirectories::default();
    // The root's own configuration and hooks are mounted. Its other worktrees share them.
    list.add_below(directory, &Path::new(".git").join("worktrees"), 1);
    for path in found.working {
        let path = path.join(".git");
        // A `.git` file or symlink leads to it.
        if !list.add_with_inner(directory, &path)
            && let Some(led_to) = follow_git_file(root, directory, &path)
        {
            list.add_with_inner(directory, &led_to);
        }
    }
    for path in found.bare {
        list.add_with_inner(directory, &path);
    }
    list.list
}

impl GitDirectories {
    /// Adds a git directory, with those of its submodules and worktrees. Returns whether it exists
    /// and is new.
    fn add_with_inner(&mut self, root: &OwnedFd, path: &Path) -> bool {
        let is_new = self.add(root, path);
        if is_new {
            self.add_below(root, &path.join("worktrees"), 1);
            self.add_below(root, &path.join("modules"), MODULE_DEPTH_MAX);
        }
        is_new
    }

    fn add(&mut self, root: &OwnedFd, path: &Path) -> bool {
        let Some(opened) = open_below(root, path) else { return false };
        let Ok(stat) = rustix::fs::fstat(&opened) else { return false };
        let identity = (stat.st_dev, stat.st_ino);
        let is_known = self.list.iter().any(|git| git.identity == identity);
        if !is_known && self.list.len() < REPOSITORIES_MAX {
            let entries = capture_entries(&opened);
            self.list.push(GitDirectory { path: path.to_owned(), identity, entries });
        }
        !is_known
    }

    fn add_below(&mut self, root: &OwnedFd, path: &Path, depth: usize) {
        let Some(opened) = open_below(root, path) else { return };
        for name in
            list_names(&opened, |kind| matches!(kind, FileType::Directory | FileType::Unknown))
        {
            let path = path.join(OsStr::from_bytes(&name));
            let is_git = open_below(root, &path)
                .is_some_and(|inner| SavedEntry::read_kind(&inner, OsStr::new("HEAD")) != Ok(None));
            if is_git {
                self.add_with_inner(root, &path);
            } else if depth > 1 {
                self.add_below(root, &path, depth - 1);
            }
        }
    }
}

fn capture_entries(git: &OwnedFd) -> GuardedEntries {
    let mut entries = GuardedEntries::new();
    let mut budget = CaptureBudget::for_small_files();
    let mut capture = |parent: &OwnedFd, path: PathBuf| {
        let name = path.file_name().unwrap_or_default();
        match SavedEntry::capture(parent, name, None, &mut budget) {
            Ok(SavedEntry::Absent) | Err(_) => {}
            Ok(saved) => drop(entries.insert(path, saved)),
        }
    };
    for name in ["config", "config.worktree", "commondir"] {
        capture(git, name.into());
    }
    let Some(hooks) = open_below(git, Path::new("hooks")) else {
        capture(git, "hooks".into());
        return entries;
    };
    for name in list_names(&hooks, |kind| kind != FileType::Directory) {
        if !name.ends_with(b".sample") {
            capture(&hooks, Path::new("hooks").join(OsStr::from_bytes(&name)));
        }
    }
    entries
}

/// Could the new content make git run or read something that the old one did not?
fn extends_git(name: &Path, before: &SavedEntry, now: &SavedEntry) -> bool {
    let (mode, content) = match now {
        SavedEntry::Absent | SavedEntry::Mounted | SavedEntry::Directory { .. } => return false,
        // A symlink leads elsewhere, and an entry that is too large was not read.
        SavedEntry::Link(_) | SavedEntry::Stamp { .. } => return true,
        SavedEntry::File { mode, content } => (*mode, content),
    };
    if name == Path::new("commondir") {
        // The content that git writes for a linked worktree.
        return content.trim_ascii() != b"../..";
    }
    if name.parent() == Some(Path::new("hooks")) {
        return mode & 0o111 != 0;
    }
    let said = match before {
        SavedEntry::File { content, .. } => list_influential_lines(content),
        SavedEntry::Absent
        | SavedEntry::Mounted
        | SavedEntry::Directory { .. }
        | SavedEntry::Link(_)
        | SavedEntry::Stamp { .. } => Default::default(),
    };
    !list_influential_lines(content).is_subset(&said)
}

/// The target of a `.git` file or symlink, if it is below the root; nothing can be planted
/// elsewhere.
fn follow_git_file(root: &Path, directory: &OwnedFd, path: &Path) -> Option<PathBuf> {
    let parent = path.parent()?;
    let place = open_below(directory, parent)?;
    let budget = &mut CaptureBudget::for_one_path();
    let target = match SavedEntry::capture(&place, OsStr::new(".git"), None, budget).ok()? {
        SavedEntry::Link(target) => PathBuf::from(OsStr::from_bytes(target.as_bytes())),
        SavedEntry::File { content, .. } => {
            let target = content.strip_prefix(b"gitdir:")?.trim_ascii();
            PathBuf::from(OsStr::from_bytes(target))
        }
        SavedEntry::Absent
        | SavedEntry::Mounted
        | SavedEntry::Directory { .. }
        | SavedEntry::Stamp { .. } => return None,
    };
    let real = std::fs::canonicalize(root.join(parent).join(target)).ok()?;
    let below = real.strip_prefix(root).ok()?;
    // The root's own git directory is protected already.
    (below != Path::new(".git")).then(|| below.to_owned())
}

fn open_below(root: &OwnedFd, path: &Path) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat2(root, path, flags, Mode::empty(), BELOW_WITHOUT_LINKS).ok()
}

fn list_names(directory: &OwnedFd, is_wanted: impl Fn(FileType) -> bool) -> Vec<Vec<u8>> {
    let Ok(entries) = Dir::read_from(directory) else { return Vec::new() };
    let entries = entries.flatten().filter(|entry| is_wanted(entry.file_type()));
    let names = entries.map(|entry| entry.file_name().to_bytes().to_vec());
    names.filter(|name| name != b"." && name != b"..").collect()
}
