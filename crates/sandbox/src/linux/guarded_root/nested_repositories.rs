//! Repositories below a root: what came to be in them that has git run something.
//!
//! Nothing holds them while a command runs: a mount in a repository below the root is passed by renaming the
//! directory above it, and to clone, to work in a submodule and to remove a clone is everyday work. So they are
//! looked at before and after. What says more of itself than a clone would (a hook, a setting that
//! may name a program, a link to another directory of git) and did not before is what the command planted.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::fs::{Dir, FileType, Mode, OFlags};

use super::directory_index::{BELOW_WITHOUT_LINKS, DirectoryIndex};
use super::git_config_text::list_influential_lines;
use super::lock;
use super::saved_entry::{CaptureBudget, SavedEntry};

/// Directories of git that are looked into.
const REPOSITORIES_MAX: usize = 512;
/// Submodules are named by paths, so their directories lie this deep below `modules` at most.
const MODULE_DEPTH_MAX: usize = 4;

/// What stands in directories of git below one root, as it was.
#[derive(Debug, Default)]
pub(super) struct NestedRepositories {
    index: Arc<Mutex<DirectoryIndex>>,
    /// By the directory itself, wherever it is moved.
    known: BTreeMap<DirectoryIdentity, GuardedEntries>,
}

type DirectoryIdentity = (u64, u64);

/// By path below the directory of git. What is not there is absent.
type GuardedEntries = BTreeMap<PathBuf, SavedEntry>;

/// Something that was not there before.
#[derive(Debug)]
pub(super) struct PlantedEntry {
    /// Below the root.
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

    /// What came to be since. To be called when nothing of the command runs.
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
    /// Below the root.
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
    // The configuration and the hooks of the root's own are held. Its other working trees share them.
    list.add_below(directory, &Path::new(".git").join("worktrees"), 1);
    for path in found.working {
        let path = path.join(".git");
        // A file or a link leads to it.
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
    /// A directory of git, and those in it of submodules and further working trees. Says whether it is there
    /// and was not known yet.
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

/// Does what stands there now have git run or read something that it did not before?
fn extends_git(name: &Path, before: &SavedEntry, now: &SavedEntry) -> bool {
    let (mode, content) = match now {
        SavedEntry::Absent | SavedEntry::Mounted | SavedEntry::Directory { .. } => return false,
        // A link leads elsewhere, and what is too large was not read.
        SavedEntry::Link(_) | SavedEntry::Stamp { .. } => return true,
        SavedEntry::File { mode, content } => (*mode, content),
    };
    if name == Path::new("commondir") {
        // As git writes it for a further working tree.
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

/// Where a file or link called `.git` leads, if that is below the root: elsewhere nothing can be planted.
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
    // That one is held.
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
