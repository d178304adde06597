//! Finds repositories below a root.
//!
//! Searched before and after each command that may write there, so results are cached for
//! directories whose entries have not changed. Known repositories are checked first, then
//! directories near the top, up to a limit.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{Access, AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags};

/// Limit on the directories searched; an unchanged one takes some microseconds.
const DIRECTORIES_MAX: usize = 1024;
/// Limit on the entries of one directory.
const ENTRIES_MAX: usize = 10_000;

/// File timestamps have at most this resolution.
const CLOCK_STEP_NANOS: i128 = 20_000_000;

#[derive(Debug, Default)]
pub(super) struct DirectoryIndex {
    directories: BTreeMap<PathBuf, IndexedDirectory>,
    /// Repositories found in the last search.
    repositories: Vec<PathBuf>,
}

#[derive(Clone, Debug)]
struct IndexedDirectory {
    stamp: DirectoryStamp,
    children: Vec<OsString>,
    /// Is there something called `.git`?
    has_git: bool,
    /// Does it look like what `.git` would be?
    is_git: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DirectoryStamp {
    device: u64,
    inode: u64,
    changed_nanos: i128,
}

/// Paths relative to a root.
#[derive(Debug, Default)]
pub(super) struct FoundRepositories {
    /// Directories with a `.git`, except the root itself.
    pub(super) working: Vec<PathBuf>,
    /// Git directories with other names.
    pub(super) bare: Vec<PathBuf>,
}

impl IndexedDirectory {
    fn holds_repository(&self) -> bool {
        self.has_git || self.is_git
    }
}

impl DirectoryIndex {
    /// Searches everything that may have changed.
    pub(super) fn find_repositories(&mut self, root: &OwnedFd) -> FoundRepositories {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let settled = i128::try_from(now.as_nanos()).unwrap_or_default() - CLOCK_STEP_NANOS;
        let mut known = std::mem::take(&mut self.directories);
        let mut found = FoundRepositories::default();
        let mut waiting: VecDeque<PathBuf> = std::mem::take(&mut self.repositories).into();
        waiting.push_back(PathBuf::new());
        let mut looked_at = BTreeSet::new();
        while let Some(path) = waiting.pop_front().filter(|_| looked_at.len() < DIRECTORIES_MAX) {
            if !looked_at.insert(path.clone()) {
                continue;
            }
            let Some(directory) = look_at(root, &path, known.remove(&path)) else { continue };
            waiting.extend(directory.children.iter().map(|name| path.join(name)));
            if path != Path::new("") {
                found.working.extend(directory.has_git.then(|| path.clone()));
                found.bare.extend(directory.is_git.then(|| path.clone()));
                self.repositories.extend(directory.holds_repository().then(|| path.clone()));
            }
            // A directory that has just changed may change again with the same timestamp.
            if directory.stamp.changed_nanos < settled {
                self.directories.insert(path, directory);
            }
        }
        found
    }
}

fn look_at(
    root: &OwnedFd,
    path: &Path,
    known: Option<IndexedDirectory>,
) -> Option<IndexedDirectory> {
    let name = if path == Path::new("") { Path::new(".") } else { path };
    let stat = rustix::fs::statat(root, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
        return None;
    }
    let stamp = DirectoryStamp {
        device: stat.st_dev,
        inode: stat.st_ino,
        changed_nanos: i128::from(stat.st_ctime) * 1_000_000_000 + i128::from(stat.st_ctime_nsec),
    };
    match known.filter(|known| known.stamp == stamp) {
        Some(known) => Some(known),
        None => list_directory(root, name, stamp),
    }
}

fn list_directory(root: &OwnedFd, path: &Path, stamp: DirectoryStamp) -> Option<IndexedDirectory> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat2(root, path, flags, Mode::empty(), BELOW_WITHOUT_LINKS).ok()?;
    let has = |name: &str| {
        rustix::fs::accessat(&opened, name, Access::EXISTS, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    };
    let is_git = has("HEAD") && (has("objects") || has("commondir"));
    let mut directory =
        IndexedDirectory { stamp, children: Vec::new(), has_git: has(".git"), is_git };
    for entry in Dir::read_from(&opened).ok()?.take(ENTRIES_MAX) {
        let entry = entry.ok()?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        let is_directory = match entry.file_type() {
            FileType::Unknown => rustix::fs::statat(&opened, name, AtFlags::SYMLINK_NOFOLLOW)
                .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory),
            kind => kind == FileType::Directory,
        };
        if is_directory && ![".", "..", ".git"].iter().any(|own| name == *own) {
            directory.children.push(name.to_os_string());
        }
    }
    Some(directory)
}

pub(super) const BELOW_WITHOUT_LINKS: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);
