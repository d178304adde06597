//! Which directories below a root hold a repository, or are one.
//!
//! Looked at before and after each command that may write there, so what is known of a directory is kept
//! as long as nothing was added to it or taken away. Where there was a repository before comes first, then
//! what is nearest to the top, and only so much of it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{Access, AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags};

/// Directories looked at: some microseconds each where nothing changed.
const DIRECTORIES_MAX: usize = 1024;
/// Entries of one directory.
const ENTRIES_MAX: usize = 10_000;

/// Files get their times from a clock that stands still for this long, at most.
const CLOCK_STEP_NANOS: i128 = 20_000_000;

#[derive(Debug, Default)]
pub(super) struct DirectoryIndex {
    directories: BTreeMap<PathBuf, IndexedDirectory>,
    /// Where there was one the last time.
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

/// What lies below a root, by paths from there.
#[derive(Debug, Default)]
pub(super) struct FoundRepositories {
    /// Where something is called `.git`; not the root itself.
    pub(super) working: Vec<PathBuf>,
    /// Directories of git under other names.
    pub(super) bare: Vec<PathBuf>,
}

impl IndexedDirectory {
    fn holds_repository(&self) -> bool {
        self.has_git || self.is_git
    }
}

impl DirectoryIndex {
    /// Looks again at everything that may have changed.
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
            // What changed just now may change again within the same tick.
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
