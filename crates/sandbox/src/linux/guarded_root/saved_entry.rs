//! The saved content of a file, symlink or small directory: captured, compared, moved aside,
//! restored.
//!
//! Everything uses the descriptor of the parent directory and follows no symlinks, because the
//! command may have created one. Content that is too large to keep is compared by its stamp.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io::{Read as _, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

/// Limit on the bytes kept of one guarded path, and of one file in it.
const BYTES_MAX: usize = 4 * 1024 * 1024;
const SMALL_BYTES_MAX: usize = 256 * 1024;
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// Limit on the entries below one guarded path.
const ENTRIES_MAX: usize = 4096;
/// Limit on the names tried for what is moved aside.
const NAMES_MAX: usize = 1000;
const DEPTH_MAX: usize = 8;

#[derive(Debug)]
pub(super) struct CaptureBudget {
    bytes: usize,
    entries: usize,
    depth: usize,
}

impl CaptureBudget {
    pub(super) fn for_one_path() -> Self {
        Self { bytes: BYTES_MAX, entries: ENTRIES_MAX, depth: DEPTH_MAX }
    }

    pub(super) fn for_small_files() -> Self {
        Self { bytes: SMALL_BYTES_MAX, ..Self::for_one_path() }
    }
}

#[derive(Clone, Debug)]
pub(super) enum SavedEntry {
    Absent,
    /// Protected by a mount; needs no comparison.
    Mounted,
    Link(CString),
    File {
        mode: u32,
        content: Vec<u8>,
    },
    Directory {
        mode: u32,
        entries: BTreeMap<OsString, SavedEntry>,
    },
    /// Too large or of another kind: its identity.
    Stamp {
        inode: u64,
        size: i64,
        changed: (i64, i64),
    },
}

impl PartialEq for SavedEntry {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Absent, Self::Absent) | (Self::Mounted, _) | (_, Self::Mounted) => true,
            (Self::Link(one), Self::Link(two)) => one == two,
            (
                Self::File { mode, content },
                Self::File { mode: other_mode, content: other_content },
            ) => mode == other_mode && content == other_content,
            (
                Self::Directory { mode, entries },
                Self::Directory { mode: other_mode, entries: other_entries },
            ) => mode == other_mode && entries == other_entries,
            (
                Self::Stamp { inode, size, changed },
                Self::Stamp { inode: other_inode, size: other_size, changed: other_changed },
            ) => (inode, size, changed) == (other_inode, other_size, other_changed),
            (
                Self::Absent
                | Self::Link(_)
                | Self::File { .. }
                | Self::Directory { .. }
                | Self::Stamp { .. },
                _,
            ) => false,
        }
    }
}

impl SavedEntry {
    /// The type of the entry with this name.
    pub(super) fn read_kind(
        parent: &impl AsFd,
        name: &OsStr,
    ) -> rustix::io::Result<Option<FileType>> {
        match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(FileType::from_raw_mode(stat.st_mode))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Captures an entry. A child named `spared` is left out, and a directory with no other entry
    /// counts as absent.
    pub(super) fn capture(
        parent: &impl AsFd,
        name: &OsStr,
        spared: Option<&OsStr>,
        budget: &mut CaptureBudget,
    ) -> rustix::io::Result<Self> {
        let stat = match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Self::Absent),
            Err(error) => return Err(error),
        };
        let stamp = || Self::Stamp {
            inode: stat.st_ino,
            size: stat.st_size,
            changed: (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or_default()),
        };
        budget.entries = budget.entries.saturating_sub(1);
        let mode = stat.st_mode & 0o7777;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => Ok(Self::Link(rustix::fs::readlinkat(parent, name, Vec::new())?)),
            FileType::RegularFile => Ok(match read_file(parent, name, budget) {
                Some(content) => Self::File { mode, content },
                None => stamp(),
            }),
            FileType::Directory => match capture_entries(parent, name, spared, budget) {
                Some((entries, true)) if entries.is_empty() => Ok(Self::Absent),
                Some((entries, _)) => Ok(Self::Directory { mode, entries }),
                None => Ok(stamp()),
            },
            _ => Ok(stamp()),
        }
    }

    /// Restores it where nothing exists. Returns whether that worked.
    pub(super) fn restore(&self, parent: &impl AsFd, name: &OsStr) -> bool {
        match self {
            Self::Absent | Self::Mounted => true,
            Self::Link(target) => rustix::fs::symlinkat(target, parent, name).is_ok(),
            Self::File { mode, content } => write_file(parent, name, *mode, content).is_ok(),
            Self::Directory { mode, entries } => {
                if rustix::fs::mkdirat(parent, name, Mode::from_raw_mode(0o700)).is_err() {
                    return false;
                }
                let Ok(inside) = open_directory(parent, name) else {
                    return false;
                };
                let are_all_back = entries.iter().all(|(name, saved)| saved.restore(&inside, name));
                rustix::fs::fchmod(&inside, Mode::from_raw_mode(*mode)).is_ok() && are_all_back
            }
            Self::Stamp { .. } => false,
        }
    }
}

/// Renames an entry so that it has no effect. Returns the new name.
pub(super) fn move_aside(parent: &impl AsFd, name: &OsStr) -> Option<OsString> {
    for number in 1..=NAMES_MAX {
        let mut other = name.to_os_string();
        other.push(".refused");
        if number > 1 {
            other.push(format!("-{number}"));
        }
        match rustix::fs::renameat_with(parent, name, parent, &other, RenameFlags::NOREPLACE) {
            Ok(()) => return Some(other),
            Err(Errno::EXIST) => {}
            Err(_) => return None,
        }
    }
    None
}

fn read_file(parent: &impl AsFd, name: &OsStr, budget: &mut CaptureBudget) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(parent, name, flags, Mode::empty()).ok()?;
    let mut content = Vec::new();
    std::fs::File::from(file).take(FILE_BYTES_MAX + 1).read_to_end(&mut content).ok()?;
    let is_small = u64::try_from(content.len()).is_ok_and(|length| length <= FILE_BYTES_MAX);
    if !is_small || content.len() > budget.bytes || budget.entries == 0 {
        return None;
    }
    budget.bytes -= content.len();
    Some(content)
}

fn write_file(parent: &impl AsFd, name: &OsStr, mode: u32, content: &[u8]) -> std::io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(parent, name, flags, Mode::from_raw_mode(0o600))?;
    rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
    std::fs::File::from(file).write_all(content)
}

/// The entries of a directory, and whether `spared` is among them. `None` if there are too many.
fn capture_entries(
    parent: &impl AsFd,
    name: &OsStr,
    spared: Option<&OsStr>,
    budget: &mut CaptureBudget,
) -> Option<(BTreeMap<OsString, SavedEntry>, bool)> {
    if budget.depth == 0 {
        return None;
    }
    let inside = open_directory(parent, name).ok()?;
    let mut found = BTreeMap::new();
    let mut was_spared = false;
    budget.depth -= 1;
    for entry in Dir::read_from(&inside).ok()? {
        let entry = entry.ok()?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        if spared == Some(name) {
            was_spared = true;
            continue;
        }
        if budget.entries == 0 {
            return None;
        }
        found.insert(name.to_os_string(), SavedEntry::capture(&inside, name, None, budget).ok()?);
    }
    budget.depth += 1;
    Some((found, was_spared))
}

fn open_directory(parent: &impl AsFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(parent, name, flags, Mode::empty())
}
