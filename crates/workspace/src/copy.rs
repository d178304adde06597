//! Copies a snapshot's files into another folder. Files are cloned where the file system supports
//! it, else written from the store. Git's objects are hard-linked, because git never rewrites one.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, fchmod, fstat, linkat, mkdirat, openat, symlinkat,
};

use crate::cancel_flag::CancelFlag;
use crate::digest::{ContentDigest, SnapshotId};
use crate::disk_hook::DiskHook;
use crate::error::WorkspaceError;
use crate::folder_record::{EntryImage, FolderEntry};
use crate::path_image::{UncoveredPath, UncoveredReason};
use crate::raw_stat::{device_of, mode_of, to_mode};
use crate::relative_path::RelativePath;
use crate::root_folder::{
    RootFolder, clone_blocks, open_child_file, open_child_folder, stat_child,
};
use crate::store::ContentStore;

/// Below this size, writing is faster than cloning.
const CLONE_BYTES_MIN: u64 = 64 << 10;
const OBJECT_DEPTH_MAX: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CopyReport {
    pub files: u64,
    pub bytes: u64,
    /// Files that share their blocks with the original until either changes.
    pub cloned_files: u64,
    /// Paths of the snapshot that the copy lacks: ignored folders, large files, and the `.git` file
    /// of a linked worktree, which would share its repository with the original.
    pub missing: Vec<UncoveredPath>,
}

#[derive(Clone, Copy)]
pub(crate) struct CopyRequest<'a> {
    pub(crate) root: &'a RootFolder,
    pub(crate) store: &'a ContentStore,
    pub(crate) hook: &'a DiskHook,
    pub(crate) cancel: &'a CancelFlag,
}

pub(crate) fn copy_snapshot(
    request: CopyRequest<'_>,
    snapshot: SnapshotId,
    place: &Path,
) -> Result<CopyReport, WorkspaceError> {
    let CopyRequest { root, store, .. } = request;
    // Checked first, so that an unknown snapshot leaves no folder behind.
    store.read_folder(&snapshot.digest())?;
    let place = prepare_place(root, store, place)?;
    let mut copy = SnapshotCopier { request, report: CopyReport::default() };
    let copied = RootFolder::open(&place.path).and_then(|target| {
        let source = root.handle.try_clone().ok();
        copy.copy_folder(&RelativePath::root(), snapshot.digest(), &target.handle, source.as_ref())
    });
    match copied {
        Ok(()) => Ok(copy.report),
        Err(error) => {
            place.clear();
            Err(error)
        }
    }
}

/// The target folder; empty when the copy begins.
struct CopyPlace {
    path: PathBuf,
    was_there: bool,
}

impl CopyPlace {
    /// Removes what was written before a failure.
    fn clear(&self) {
        let entries = std::fs::read_dir(&self.path).into_iter().flatten().flatten();
        for entry in entries {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder {
                open_for_removal(&entry.path());
            }
            let _ = match is_folder {
                true => std::fs::remove_dir_all(entry.path()),
                false => std::fs::remove_file(entry.path()),
            };
        }
        if !self.was_there {
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}

/// Makes folders removable again: the copy may already have set modes that lock out their owner.
fn open_for_removal(folder: &Path) {
    let _ = std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o700));
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_for_removal(&entry.path());
        }
    }
}

fn prepare_place(
    root: &RootFolder,
    store: &ContentStore,
    place: &Path,
) -> Result<CopyPlace, WorkspaceError> {
    let disk_error = |error| WorkspaceError::disk("create", place, error);
    let was_there = place.symlink_metadata().is_ok();
    if was_there {
        let mut entries = std::fs::read_dir(place).map_err(disk_error)?;
        if entries.next().is_some() {
            return Err(WorkspaceError::PlaceNotEmpty(place.to_owned()));
        }
    } else {
        std::fs::create_dir(place).map_err(disk_error)?;
    }
    let path = place.canonicalize().map_err(disk_error)?;
    let prepared = CopyPlace { path, was_there };
    let store_path = store.folder().canonicalize().map_err(disk_error)?;
    if prepared.path.starts_with(&root.path) || prepared.path.starts_with(store_path) {
        prepared.clear();
        return Err(WorkspaceError::PlaceInside(place.to_owned()));
    }
    Ok(prepared)
}

struct SnapshotCopier<'a> {
    request: CopyRequest<'a>,
    report: CopyReport,
}

struct CopyFile<'a> {
    name: &'a [u8],
    content: ContentDigest,
    size: u64,
    mode: u32,
}

impl SnapshotCopier<'_> {
    fn copy_folder(
        &mut self,
        path: &RelativePath,
        record: ContentDigest,
        target: &OwnedFd,
        source: Option<&OwnedFd>,
    ) -> Result<(), WorkspaceError> {
        for entry in self.request.store.read_folder(&record)?.entries {
            if self.request.cancel.is_cancelled() {
                return Err(WorkspaceError::Cancelled);
            }
            let entry_path = path.join(&entry.name);
            self.copy_entry(&entry_path, &entry, target, source)?;
        }
        Ok(())
    }

    fn copy_entry(
        &mut self,
        path: &RelativePath,
        entry: &FolderEntry,
        target: &OwnedFd,
        source: Option<&OwnedFd>,
    ) -> Result<(), WorkspaceError> {
        let failed = |error: io::Error| WorkspaceError::CopyFailed(path.clone(), error);
        let name = entry.name.as_ref();
        self.request.hook.before("copy entry");
        match &entry.image {
            EntryImage::File { content, size, mode, .. } => {
                let file = CopyFile { name, content: *content, size: *size, mode: *mode };
                if name == b".git" && self.is_shared_repository(path, &file)? {
                    self.miss(path, UncoveredReason::OtherMount, 0);
                    return Ok(());
                }
                self.copy_file(&file, target, source, path)
            }
            EntryImage::Link { target: link } => {
                self.report.files += 1;
                symlinkat(&**link, target, name).map_err(|error| failed(error.into()))
            }
            EntryImage::Folder { record, mode } => {
                let made = mkdirat(target, name, Mode::from_raw_mode(0o700));
                made.map_err(|error| failed(error.into()))?;
                let inner = open_child_folder(target, name).map_err(failed)?;
                let source = source.and_then(|source| open_child_folder(source, name).ok());
                self.copy_folder(path, *record, &inner, source.as_ref())?;
                let closed = fchmod(&inner, to_mode(*mode));
                closed.map_err(|error| failed(error.into()))
            }
            EntryImage::Uncovered { reason: UncoveredReason::GitObjects, .. } => {
                let Some(source) = source.and_then(|source| open_child_folder(source, name).ok())
                else {
                    self.miss(path, UncoveredReason::GitObjects, 0);
                    return Ok(());
                };
                self.link_objects(&source, target, name, 0).map_err(failed)
            }
            EntryImage::Uncovered { reason, stamp } => {
                self.miss(path, *reason, stamp.size);
                Ok(())
            }
        }
    }

    fn miss(&mut self, path: &RelativePath, reason: UncoveredReason, bytes: u64) {
        self.report.missing.push(UncoveredPath { path: path.clone(), reason, bytes });
    }

    fn copy_file(
        &mut self,
        file: &CopyFile<'_>,
        target: &OwnedFd,
        source: Option<&OwnedFd>,
        path: &RelativePath,
    ) -> Result<(), WorkspaceError> {
        let failed = |error: io::Error| WorkspaceError::CopyFailed(path.clone(), error);
        let flags =
            OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = openat(target, file.name, flags, to_mode(file.mode))
            .map_err(|error| failed(error.into()))?;
        let mut handle = File::from(handle);
        let from = source.and_then(|source| open_child_file(source, file.name).ok());
        let is_cloned = match &from {
            Some(from) => try_clone_file(file, &handle, from).map_err(failed)?,
            None => false,
        };
        if is_cloned {
            self.report.cloned_files += 1;
        } else {
            let unchanged = from.and_then(|from| read_unchanged(file, &from));
            let bytes = unchanged.map_or_else(|| self.request.store.read(&file.content), Ok)?;
            handle.write_all(&bytes).map_err(failed)?;
        }
        // The umask may have removed bits. Most often it has not, and asking is cheaper than setting.
        if mode_of(&fstat(&handle).map_err(|error| failed(error.into()))?) & 0o7777 != file.mode {
            fchmod(&handle, to_mode(file.mode)).map_err(|error| failed(error.into()))?;
        }
        self.report.files += 1;
        self.report.bytes += file.size;
        Ok(())
    }

    /// Whether this `.git` file names a folder outside the root. Two trees sharing one index and
    /// one HEAD would change each other.
    fn is_shared_repository(
        &self,
        path: &RelativePath,
        file: &CopyFile<'_>,
    ) -> Result<bool, WorkspaceError> {
        let bytes = self.request.store.read(&file.content)?;
        let Some(name) = bytes.strip_prefix(b"gitdir: ").map(<[u8]>::trim_ascii_end) else {
            return Ok(false);
        };
        if name.starts_with(b"/") {
            return Ok(true);
        }
        let mut depth = path.depth().saturating_sub(1);
        for part in name.split(|byte| *byte == b'/') {
            match part {
                b"" | b"." => {}
                b".." if depth == 0 => return Ok(true),
                b".." => depth -= 1,
                _ => depth += 1,
            }
        }
        Ok(false)
    }

    /// Hard-links every file below git's `objects`, or copies it when the target is on another file
    /// system.
    fn link_objects(
        &self,
        source: &OwnedFd,
        target: &OwnedFd,
        name: &[u8],
        depth: usize,
    ) -> io::Result<()> {
        if depth > OBJECT_DEPTH_MAX {
            return Ok(());
        }
        mkdirat(target, name, Mode::from_raw_mode(0o777))?;
        let target = open_child_folder(target, name)?;
        for entry in rustix::fs::Dir::read_from(source)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if self.request.cancel.is_cancelled() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let Some(stat) = stat_child(source, name)? else { continue };
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory if device_of(&stat) == self.request.root.device => {
                    let inner = open_child_folder(source, name)?;
                    self.link_objects(&inner, &target, name, depth + 1)?;
                }
                FileType::RegularFile => link_or_copy(source, &target, name)?,
                _ => {}
            }
        }
        Ok(())
    }
}

fn link_or_copy(source: &OwnedFd, target: &OwnedFd, name: &[u8]) -> io::Result<()> {
    if linkat(source, name, target, name, AtFlags::empty()).is_ok() {
        return Ok(());
    }
    let mut from = open_child_file(source, name)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let to = openat(target, name, flags, Mode::from_raw_mode(0o444))?;
    io::copy(&mut from, &mut File::from(to)).map(drop)
}

/// Clones the file in the tree if it still has the snapshot's content; else leaves `to` empty.
fn try_clone_file(file: &CopyFile<'_>, to: &File, from: &File) -> io::Result<bool> {
    if file.size < CLONE_BYTES_MIN || !clone_blocks(to, from) {
        return Ok(false);
    }
    // Verifies the clone, not the source: the source could change after the check.
    let is_same = read_unchanged(file, to).is_some();
    if !is_same {
        // Only then: ext4 writes a file that was cut to nothing to the disk as soon as it is closed.
        to.set_len(0)?;
        (&*to).rewind()?;
    }
    Ok(is_same)
}

/// The bytes of an open file if they are the snapshot's: most files of the tree are, and reading them
/// costs less than taking them out of a git pack or a segment.
fn read_unchanged(file: &CopyFile<'_>, from: &File) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(file.size).ok()?.checked_add(1)?);
    from.take(file.size + 1).read_to_end(&mut bytes).ok()?;
    (ContentDigest::of(&bytes) == file.content).then_some(bytes)
}
