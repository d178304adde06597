//! The git repository a folder belongs to: its index and what it tracks.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags};

use crate::git_index::TrackedPaths;
use crate::relative_path::RelativePath;
use crate::root_folder::{FileStamp, open_child_folder, read_small_file, stat_child};

/// One repository below the root, or none.
#[derive(Debug, Default)]
pub(crate) struct Repository {
    root: RelativePath,
    git_folder: Option<OwnedFd>,
    /// Changes with git's index; 0 without an index.
    pub(crate) index_identity: u64,
    tracked: OnceLock<TrackedPaths>,
}

impl Repository {
    /// Opens the repository whose `.git` is in `folder`. In a linked worktree or a sub-module,
    /// `.git` is a file that names the git folder. Nothing is written.
    pub(crate) fn open(folder: &OwnedFd, path: &RelativePath, absolute: &Path) -> Self {
        let git_folder = open_child_folder(folder, b".git").ok().or_else(|| {
            let place = read_git_file(folder, absolute)?;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::open(place, flags, Mode::empty()).ok()
        });
        let stat = git_folder.as_ref().and_then(|git| stat_child(git, b"index").ok().flatten());
        let index_identity = stat.map_or(0, |stat| identify(&FileStamp::from(&stat)));
        Self { root: path.clone(), git_folder, index_identity, tracked: OnceLock::new() }
    }

    /// Reads `info/exclude`, ignore rules outside the tree.
    pub(crate) fn read_exclude(&self) -> Option<Vec<u8>> {
        let info = open_child_folder(self.git_folder.as_ref()?, b"info").ok()?;
        read_small_file(info, b"exclude", super::RULE_BYTES_MAX)
    }

    pub(crate) fn tracks(&self, path: &RelativePath) -> bool {
        self.tracked_paths().contains(self.inner_path(path))
    }

    pub(crate) fn tracks_below(&self, path: &RelativePath) -> bool {
        self.tracked_paths().has_below(self.inner_path(path))
    }

    fn tracked_paths(&self) -> &TrackedPaths {
        self.tracked.get_or_init(|| match &self.git_folder {
            Some(git) => TrackedPaths::load(git),
            None => TrackedPaths::default(),
        })
    }

    fn inner_path<'a>(&self, path: &'a RelativePath) -> &'a [u8] {
        let bytes = path.as_bytes();
        let rest = bytes.strip_prefix(self.root.as_bytes()).unwrap_or(bytes);
        rest.strip_prefix(b"/").unwrap_or(rest)
    }
}

/// The folder that a `.git` file points to.
fn read_git_file(folder: &OwnedFd, absolute: &Path) -> Option<PathBuf> {
    let bytes = read_small_file(folder, b".git", 4096)?;
    let name = bytes.strip_prefix(b"gitdir: ")?.trim_ascii_end();
    Some(absolute.join(std::ffi::OsStr::from_bytes(name)))
}

fn identify(stamp: &FileStamp) -> u64 {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&stamp.modified_seconds.to_le_bytes());
    bytes.extend_from_slice(&stamp.modified_nanos.to_le_bytes());
    bytes.extend_from_slice(&stamp.changed_seconds.to_le_bytes());
    bytes.extend_from_slice(&stamp.changed_nanos.to_le_bytes());
    bytes.extend_from_slice(&stamp.size.to_le_bytes());
    bytes.extend_from_slice(&stamp.inode.to_le_bytes());
    let digest = crate::digest::ContentDigest::of(&bytes);
    digest.as_bytes().first_chunk().map_or(1, |first| u64::from_le_bytes(*first) | 1)
}
