//! Reads an overlay's upper folder: which paths were touched, and which of them snapshots do not
//! cover.

use std::collections::BTreeSet;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{Dir, FileType, Stat};

use super::{OverlayMove, OverlayMoveKind};
use crate::error::WorkspaceError;
use crate::relative_path::RelativePath;
use crate::root_folder::{RootFolder, open_child_folder, stat_child};

/// More entries than this do not come from our trials.
const ENTRIES_MAX: u64 = 1_000_000;
const DEPTH_MAX: usize = 1_000;
/// The extended attribute of a folder that hides the lower one.
const OPAQUE_MARK: &str = "user.overlay.opaque";

/// Marks that the removals are done: repeating them would remove what was created since.
pub(super) fn removals_mark(upper: &Path) -> PathBuf {
    upper.with_extension("removed")
}

/// The paths that a trial touched.
#[derive(Debug, Default)]
pub(crate) struct UpperFolder {
    /// Every path in the upper folder.
    entries: BTreeSet<RelativePath>,
    /// Paths below which nothing of the root is visible: files, removed paths, recreated folders.
    covering: BTreeSet<RelativePath>,
    pub(super) moves: Vec<OverlayMove>,
}

/// Uncovered paths in the snapshots before and after the trial.
pub(crate) struct UncoveredSets {
    pub(crate) before: BTreeSet<RelativePath>,
    pub(crate) after: BTreeSet<RelativePath>,
}

/// One folder of the overlay while it is read.
struct UpperPlace<'a> {
    path: RelativePath,
    upper: &'a OwnedFd,
    /// The same folder in the root, if it exists there.
    lower: Option<&'a OwnedFd>,
    is_uncovered: bool,
    depth: usize,
}

impl UpperFolder {
    pub(crate) fn read(
        upper: &Path,
        root: &RootFolder,
        uncovered: &UncoveredSets,
        began: SystemTime,
    ) -> Result<Self, WorkspaceError> {
        let failed = |error| WorkspaceError::disk("read", upper, error);
        let flags = rustix::fs::OFlags::RDONLY
            | rustix::fs::OFlags::DIRECTORY
            | rustix::fs::OFlags::CLOEXEC;
        let handle = rustix::fs::open(upper, flags, rustix::fs::Mode::empty())
            .map_err(|error| WorkspaceError::disk("open", upper, error))?;
        let are_removals_done = removals_mark(upper).exists();
        let found = Self::default();
        let mut reader = UpperReader { found, uncovered, began, are_removals_done, count: 0 };
        let place = UpperPlace {
            path: RelativePath::root(),
            upper: &handle,
            lower: Some(&root.handle),
            is_uncovered: false,
            depth: 0,
        };
        reader.read_folder(&place).map_err(failed)?;
        if reader.count > ENTRIES_MAX {
            return Err(WorkspaceError::TooManyPaths(ENTRIES_MAX));
        }
        Ok(reader.found)
    }

    pub(crate) fn into_moves(self) -> Vec<OverlayMove> {
        self.moves
    }

    /// Whether the trial touched this path.
    pub(crate) fn covers(&self, path: &RelativePath) -> bool {
        if self.entries.contains(path) {
            return true;
        }
        let mut folder = path.clone();
        while let Some((parent, _)) = folder.split_last() {
            if self.covering.contains(&parent) {
                return true;
            }
            folder = parent;
        }
        false
    }
}

struct UpperReader<'a> {
    found: UpperFolder,
    uncovered: &'a UncoveredSets,
    began: SystemTime,
    are_removals_done: bool,
    count: u64,
}

impl UpperReader<'_> {
    fn read_folder(&mut self, place: &UpperPlace<'_>) -> std::io::Result<()> {
        if place.depth > DEPTH_MAX {
            return Err(std::io::Error::other("folders are nested too deeply"));
        }
        for entry in Dir::read_from(place.upper)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            self.count += 1;
            if self.count > ENTRIES_MAX {
                return Ok(());
            }
            self.read_entry(place, name)?;
        }
        Ok(())
    }

    fn read_entry(&mut self, place: &UpperPlace<'_>, name: &[u8]) -> std::io::Result<()> {
        let path = place.path.join(name);
        let Some(stat) = stat_child(place.upper, name)? else { return Ok(()) };
        let below = match place.lower {
            Some(lower) => stat_child(lower, name)?,
            None => None,
        };
        self.found.entries.insert(path.clone());
        let is_uncovered = place.is_uncovered || self.uncovered.after.contains(&path);
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                let inner = open_child_folder(place.upper, name)?;
                let is_opaque = has_opaque_mark(&inner);
                let is_merged = below.as_ref().is_some_and(is_folder) && !is_opaque;
                if below.is_some() && !is_merged {
                    self.found.covering.insert(path.clone());
                    self.remove_uncovered_below(&path, is_uncovered);
                }
                if is_uncovered && !is_merged {
                    self.add_move(&path, OverlayMoveKind::MakeFolder, None);
                }
                // After the removals, an existing folder was made by accepting the trial, or by
                // others since.
                let shows = below.as_ref().is_some_and(is_folder);
                let lower =
                    match place.lower.filter(|_| shows && (is_merged || self.are_removals_done)) {
                        Some(lower) => Some(open_child_folder(lower, name)?),
                        None => None,
                    };
                let depth = place.depth + 1;
                let lower = lower.as_ref();
                self.read_folder(&UpperPlace { path, upper: &inner, lower, is_uncovered, depth })
            }
            FileType::CharacterDevice if stat.st_rdev == 0 => {
                self.found.covering.insert(path.clone());
                let was_uncovered = is_uncovered || self.uncovered.before.contains(&path);
                if below.is_some() {
                    self.remove_uncovered_below(&path, was_uncovered);
                }
                Ok(())
            }
            FileType::RegularFile | FileType::Symlink => {
                self.found.covering.insert(path.clone());
                if below.as_ref().is_some_and(is_folder) {
                    let was_uncovered = is_uncovered || self.uncovered.before.contains(&path);
                    self.remove_uncovered_below(&path, was_uncovered);
                }
                let is_there = place.lower.zip(below.as_ref()).is_some_and(|(lower, below)| {
                    let target =
                        |folder: &OwnedFd| rustix::fs::readlinkat(folder, name, Vec::new()).ok();
                    is_same(&stat, below, || target(place.upper) == target(lower))
                });
                if is_uncovered && !is_there {
                    self.add_move(&path, OverlayMoveKind::Put, below.as_ref());
                }
                Ok(())
            }
            // Sockets and devices belong to programs that have ended.
            _ => Ok(()),
        }
    }

    fn add_move(&mut self, path: &RelativePath, kind: OverlayMoveKind, below: Option<&Stat>) {
        let is_changed_by_others = below.is_some_and(|stat| is_newer(stat, self.began));
        self.found.moves.push(OverlayMove { path: path.clone(), kind, is_changed_by_others });
    }

    /// Adds the removals of uncovered paths at or below a removed path.
    fn remove_uncovered_below(&mut self, path: &RelativePath, is_uncovered: bool) {
        if self.are_removals_done {
            return;
        }
        let below = self.uncovered.before.iter().filter(|one| one.is_below(path));
        let gone: Vec<RelativePath> = match is_uncovered {
            true => vec![path.clone()],
            false => below.cloned().collect(),
        };
        for path in gone {
            // `CarryOver::remove` checks whether others changed a part of it.
            self.add_move(&path, OverlayMoveKind::Remove, None);
        }
    }
}

/// Whether an interrupted accept already put this file: copies preserve the modification time.
fn is_same(upper: &Stat, below: &Stat, targets: impl FnOnce() -> bool) -> bool {
    let kinds = [upper, below].map(|stat| FileType::from_raw_mode(stat.st_mode));
    match kinds {
        [FileType::Symlink, FileType::Symlink] => targets(),
        [FileType::RegularFile, FileType::RegularFile] => {
            let permissions = |stat: &Stat| stat.st_mode & 0o777;
            upper.st_size == below.st_size
                && modified_at(upper) == modified_at(below)
                && permissions(upper) == permissions(below)
        }
        _ => false,
    }
}

pub(super) fn modified_at(stat: &Stat) -> SystemTime {
    let nanos = Duration::from_nanos(u64::from(stat.st_mtime_nsec as u32));
    match u64::try_from(stat.st_mtime) {
        Ok(seconds) => UNIX_EPOCH + Duration::from_secs(seconds) + nanos,
        Err(_) => UNIX_EPOCH - Duration::from_secs(stat.st_mtime.unsigned_abs()) + nanos,
    }
}

fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

/// The change time is set by every change, and no program can set it back. File systems count it in
/// ticks of some milliseconds, so a change in the tick in which the trial began may be later than
/// that.
pub(super) fn is_newer(stat: &Stat, began: SystemTime) -> bool {
    let seconds = Duration::from_secs(stat.st_ctime.cast_unsigned());
    let changed = UNIX_EPOCH + seconds + Duration::from_nanos(u64::from(stat.st_ctime_nsec as u32));
    changed >= began && !is_folder(stat)
}

fn has_opaque_mark(folder: &OwnedFd) -> bool {
    let mut value = [0_u8; 4];
    let length = rustix::fs::fgetxattr(folder, OPAQUE_MARK, &mut value);
    length.is_ok_and(|length| length > 0 && value.first() == Some(&b'y'))
}
