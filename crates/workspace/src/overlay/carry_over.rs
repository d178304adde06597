//! Copies paths that snapshots do not cover out of an overlay's upper folder. Never renames: a
//! process that outlived the trial may hold an overlay file open and would go on writing to the
//! user's file. Repeating it after a kill does the rest: copies are recognised as equal, and
//! removed paths are gone.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::SystemTime;

use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, fchmod, fstat, mkdirat, openat, renameat, unlinkat,
};
use rustix::io::Errno;

use super::upper_folder::{is_newer, modified_at, removals_mark};
use super::{OverlayMove, OverlayMoveKind};
use crate::disk_hook::DiskHook;
use crate::raw_stat::device_of;
use crate::relative_path::RelativePath;
use crate::restore::RestoreConsent;
use crate::root_folder::{
    FileStamp, RootFolder, TEMPORARY_PREFIX, clone_blocks, open_child_file, open_child_folder,
    stat_child,
};

/// Larger files are copied only by cloning: a sparse file would fill the disk.
const COPIED_BYTES_MAX: u64 = 4 << 30;

pub(crate) struct CarryOver<'a> {
    pub(crate) root: &'a RootFolder,
    pub(crate) upper: &'a Path,
    pub(crate) began: SystemTime,
    pub(crate) consent: &'a RestoreConsent,
    pub(crate) hook: &'a DiskHook,
}

/// Returns the paths that could not be brought to the state the trial left.
pub(crate) fn carry_over(request: &CarryOver<'_>, moves: &[OverlayMove]) -> Vec<RelativePath> {
    let Ok(upper) = RootFolder::open(request.upper) else {
        return moves.iter().map(|moved| moved.path.clone()).collect();
    };
    // Removals first: a folder that was recreated must not keep the contents of the old one.
    let (removals, others): (Vec<_>, Vec<_>) =
        moves.iter().partition(|moved| moved.kind == OverlayMoveKind::Remove);
    let mut left = Vec::new();
    let mut carry_all = |moves: Vec<&OverlayMove>| {
        for moved in moves {
            let may_move = !moved.is_changed_by_others || request.consent.covers(&moved.path);
            if !may_move || request.carry_one(&upper, moved).is_err() {
                left.push(moved.path.clone());
            }
        }
    };
    let has_removals = !removals.is_empty();
    carry_all(removals);
    if has_removals && std::fs::write(removals_mark(request.upper), b"").is_err() {
        return others.iter().map(|moved| moved.path.clone()).collect();
    }
    let has_others = !others.is_empty();
    carry_all(others);
    // The caller deletes the upper folder after this, so the copies must be durable.
    if has_others {
        request.hook.before("sync file system");
        if request.root.sync_file_system().is_err() {
            left.extend(moves.iter().map(|moved| moved.path.clone()));
        }
    }
    left
}

impl CarryOver<'_> {
    fn carry_one(&self, upper: &RootFolder, moved: &OverlayMove) -> io::Result<()> {
        let Some((folder, name)) = moved.path.split_last() else { return Ok(()) };
        let parent = self.root.open_folder(&folder);
        match moved.kind {
            OverlayMoveKind::Remove => match parent {
                Ok(parent) => self.remove(&parent, name, &moved.path),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                Err(error) => Err(error),
            },
            OverlayMoveKind::MakeFolder => {
                let mode = match upper.open_folder(&moved.path) {
                    Ok(made) => fstat(&made)?.st_mode & 0o777,
                    Err(_) => return Ok(()),
                };
                let parent = parent?;
                self.hook.before("make folder");
                match mkdirat(&parent, name, Mode::from_raw_mode(0o700)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                Ok(fchmod(&open_child_folder(&parent, name)?, Mode::from_raw_mode(mode))?)
            }
            OverlayMoveKind::Put => {
                let source = match upper.open_folder(&folder) {
                    Ok(source) => source,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                    Err(error) => return Err(error),
                };
                self.put(&source, &parent?, name)
            }
        }
    }

    /// Copies to a temporary name, then renames over the target.
    fn put(&self, source: &OwnedFd, parent: &OwnedFd, name: &[u8]) -> io::Result<()> {
        let Some(stat) = stat_child(source, name)? else { return Ok(()) };
        let temporary = [TEMPORARY_PREFIX, b"moved"].concat();
        let _ = unlinkat(parent, temporary.as_slice(), AtFlags::empty());
        self.hook.before("copy out of the overlay");
        let copied = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => copy_link(source, name, parent, &temporary),
            _ => copy_file(source, name, parent, &temporary),
        };
        let put = copied.and_then(|()| {
            self.hook.before("rename into place");
            Ok(renameat(parent, temporary.as_slice(), parent, name)?)
        });
        if put.is_err() {
            let _ = unlinkat(parent, temporary.as_slice(), AtFlags::empty());
        }
        put
    }

    /// Removes a path recursively, except for parts that others changed since the trial began.
    fn remove(&self, parent: &OwnedFd, name: &[u8], path: &RelativePath) -> io::Result<()> {
        let Some(stat) = stat_child(parent, name)? else { return Ok(()) };
        if is_newer(&stat, self.began) && !self.consent.covers(path) {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
            self.hook.before("remove");
            return Ok(unlinkat(parent, name, AtFlags::empty())?);
        }
        if device_of(&stat) != self.root.device {
            return Err(Errno::XDEV.into());
        }
        let folder = open_child_folder(parent, name)?;
        let mut kept = None;
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let inner = entry.file_name().to_bytes();
            if inner == b"." || inner == b".." {
                continue;
            }
            if let Err(error) = self.remove(&folder, inner, &path.join(inner)) {
                kept = Some(error);
            }
        }
        match kept {
            Some(error) => Err(error),
            None => Ok(unlinkat(parent, name, AtFlags::REMOVEDIR)?),
        }
    }
}

fn copy_link(source: &OwnedFd, name: &[u8], parent: &OwnedFd, to: &[u8]) -> io::Result<()> {
    let target = rustix::fs::readlinkat(source, name, Vec::new())?;
    Ok(rustix::fs::symlinkat(target.as_c_str(), parent, to)?)
}

/// Preserves the modification time, which build tools compare. Fails if the file changes during the
/// copy.
fn copy_file(source: &OwnedFd, name: &[u8], parent: &OwnedFd, to: &[u8]) -> io::Result<()> {
    let mut from = open_child_file(source, name)?;
    let before = fstat(&from)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mut to = std::fs::File::from(openat(parent, to, flags, Mode::from_raw_mode(0o600))?);
    if !clone_blocks(&to, &from) {
        if before.st_size.cast_unsigned() > COPIED_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        io::copy(&mut from, &mut to)?;
    }
    if FileStamp::from(&fstat(&from)?) != FileStamp::from(&before) {
        return Err(io::ErrorKind::ResourceBusy.into());
    }
    fchmod(&to, Mode::from_raw_mode(before.st_mode & 0o777))?;
    to.set_modified(modified_at(&before))
}
