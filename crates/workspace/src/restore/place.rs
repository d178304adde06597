//! Operations at one path. Each leaves either the old or the new file, complete, and deletes
//! nothing it replaced unless the store has its bytes.
//!
//! Network file systems, and many in user space, can neither exchange two names nor refuse to
//! replace one. There an exchange is three renames: the name is missing for a moment, and no byte
//! of what was there is lost.

use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{
    AtFlags, Mode, OFlags, RenameFlags, fchmod, linkat, openat, renameat, renameat_with, symlinkat,
    unlinkat,
};
use rustix::io::Errno;

use super::RestoreResult;
use super::restore_log::LoggedStep;
use crate::disk_hook::DiskHook;
use crate::path_image::PathImage;
use crate::raw_stat::to_mode;
use crate::relative_path::RelativePath;
use crate::root_folder::{RootFolder, TEMPORARY_PREFIX, read_image, stat_child};
use crate::store::ContentStore;

/// Where files are restored, and the store with their contents.
#[derive(Clone, Copy)]
pub(crate) struct RestoreSite<'a> {
    pub(crate) root: &'a RootFolder,
    pub(crate) store: &'a ContentStore,
    pub(crate) hook: &'a DiskHook,
    /// Larger files are compared by size and time.
    pub(crate) file_bytes: u64,
}

/// One path during its restore.
pub(super) struct StepPlace<'a> {
    pub(super) site: RestoreSite<'a>,
    pub(super) step: &'a LoggedStep,
    parent: OwnedFd,
    name: Vec<u8>,
    /// Temporary name in the same folder: first the replacement, then what was replaced.
    temporary: Vec<u8>,
    trash: &'a OwnedFd,
    trash_name: String,
}

impl<'a> StepPlace<'a> {
    pub(super) fn open(
        site: RestoreSite<'a>,
        step: &'a LoggedStep,
        name_part: &str,
        trash: &'a OwnedFd,
    ) -> io::Result<Self> {
        let Some((folder, name)) = step.path.split_last() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let name = name.to_vec();
        let mut temporary = TEMPORARY_PREFIX.to_vec();
        temporary.extend_from_slice(name_part.as_bytes());
        let parent = site.root.open_folder(&folder)?;
        Ok(Self { site, step, parent, name, temporary, trash, trash_name: name_part.to_owned() })
    }

    /// Completes or reverses a step at this path that a kill interrupted.
    pub(super) fn clear_temporary(&self) -> io::Result<()> {
        self.clear_aside()?;
        let beside = self.image(&self.temporary)?;
        if beside == PathImage::Absent {
            return Ok(());
        }
        let here = self.image(&self.name)?;
        let is_exchanged = self.step.target.is_leaf() && here.is_same_as(&self.step.target);
        if beside.is_same_as(&self.step.target) {
            self.unlink_temporary()
        } else if beside.is_same_as(&self.step.current)
            && (is_exchanged || !self.step.target.is_leaf())
        {
            self.discard_temporary(&beside).map(drop)
        } else if is_exchanged {
            self.put_back_exchanged().map(drop)
        } else if self.step.target.is_leaf() {
            // A partially written content, or another program's version that is no longer the
            // newest. Kept in the trash, because it cannot be told which.
            self.move_to_trash(&self.temporary)
        } else {
            self.put_back_moved().map(drop)
        }
    }

    /// Moves a file or a link away, then checks that it was the planned one.
    pub(super) fn remove(&self) -> io::Result<RestoreResult> {
        let found = self.image(&self.name)?;
        if found == PathImage::Absent || found.is_folder() && self.step.target.is_folder() {
            return Ok(RestoreResult::AlreadyThere);
        }
        if !self.is_as_planned(&found) {
            return Ok(RestoreResult::ChangedMeanwhile);
        }
        self.site.hook.before("rename aside");
        match self.move_away(&self.temporary) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(RestoreResult::AlreadyThere),
            Err(error) => return Err(error.into()),
        }
        let moved = self.image(&self.temporary)?;
        match self.is_as_planned(&moved) {
            true => self.discard_temporary(&moved),
            false => self.put_back_moved(),
        }
    }

    /// Writes the target beside its place, unless that is as it should be or has changed. `None`
    /// means that `put_in_place` must follow, once the replacement is on the disk.
    pub(super) fn prepare(&self) -> io::Result<Option<RestoreResult>> {
        let content = match &self.step.target {
            PathImage::File { content, .. } => match self.site.store.read(content) {
                Ok(bytes) => bytes,
                Err(_) => return Ok(Some(RestoreResult::NotKept)),
            },
            PathImage::Absent
            | PathImage::Link { .. }
            | PathImage::Folder { .. }
            | PathImage::Uncovered { .. } => Vec::new(),
        };
        let found = self.image(&self.name)?;
        if found.is_same_as(&self.step.target) {
            return Ok(Some(RestoreResult::AlreadyThere));
        }
        if !is_same_file(&found, self.expected_image()) {
            return Ok(Some(RestoreResult::ChangedMeanwhile));
        }
        if let Err(error) = self.write_temporary(&content) {
            let _ = self.unlink_temporary();
            return Err(error);
        }
        Ok(None)
    }

    /// What the replacement takes the place of: an earlier phase has removed a folder.
    fn expected_image(&self) -> &PathImage {
        match self.step.current.is_folder() {
            true => &PathImage::Absent,
            false => &self.step.current,
        }
    }

    /// Puts the prepared replacement in its place.
    pub(super) fn put_in_place(&self) -> io::Result<RestoreResult> {
        let expected = self.expected_image();
        if *expected == PathImage::Absent {
            return self.place_new();
        }
        match self.exchange("exchange") {
            Ok(()) => {}
            Err(Errno::NOENT | Errno::EXIST) => {
                self.unlink_temporary()?;
                return Ok(RestoreResult::ChangedMeanwhile);
            }
            Err(error) => {
                self.unlink_temporary()?;
                return Err(error.into());
            }
        }
        let came_out = self.image(&self.temporary)?;
        match is_same_file(&came_out, expected) {
            true => self.discard_temporary(&came_out),
            false => self.put_back_exchanged(),
        }
    }

    fn place_new(&self) -> io::Result<RestoreResult> {
        self.site.hook.before("rename into place");
        match self.rename_new(&self.temporary, &self.parent, &self.name) {
            Ok(()) => Ok(RestoreResult::Restored),
            Err(error) => {
                self.unlink_temporary()?;
                match error {
                    Errno::EXIST => Ok(RestoreResult::ChangedMeanwhile),
                    error => Err(error.into()),
                }
            }
        }
    }

    fn write_temporary(&self, content: &[u8]) -> io::Result<()> {
        self.site.hook.before("create beside");
        match &self.step.target {
            PathImage::File { mode, .. } => {
                let flags = OFlags::WRONLY
                    | OFlags::CREATE
                    | OFlags::EXCL
                    | OFlags::NOFOLLOW
                    | OFlags::CLOEXEC;
                let file =
                    openat(&self.parent, &*self.temporary, flags, Mode::from_raw_mode(0o600))?;
                let mut file = std::fs::File::from(file);
                self.site.hook.before("write beside");
                file.write_all(content)?;
                Ok(fchmod(&file, to_mode(*mode))?)
            }
            PathImage::Link { target } => {
                Ok(symlinkat(target.as_slice(), &self.parent, &*self.temporary)?)
            }
            PathImage::Absent | PathImage::Folder { .. } | PathImage::Uncovered { .. } => {
                Err(io::ErrorKind::InvalidInput.into())
            }
        }
    }

    /// The replaced file is not the planned one: exchanges it back. If another program has written
    /// to our file meanwhile, that newest version stays and the other goes to the trash.
    fn put_back_exchanged(&self) -> io::Result<RestoreResult> {
        match self.exchange("exchange back") {
            Ok(()) => {}
            // Another program has put a newer file there in between.
            Err(Errno::EXIST) => {
                self.move_to_trash(&self.temporary)?;
                return Ok(RestoreResult::ChangedMeanwhile);
            }
            Err(error) => return Err(error.into()),
        }
        if self.image(&self.temporary)?.is_same_as(&self.step.target) {
            self.unlink_temporary()?;
            return Ok(RestoreResult::ChangedMeanwhile);
        }
        match self.exchange("exchange again") {
            Ok(()) | Err(Errno::EXIST) => self.move_to_trash(&self.temporary)?,
            Err(error) => return Err(error.into()),
        }
        Ok(RestoreResult::ChangedMeanwhile)
    }

    fn put_back_moved(&self) -> io::Result<RestoreResult> {
        self.site.hook.before("rename back");
        match self.rename_new(&self.temporary, &self.parent, &self.name) {
            Ok(()) => {}
            // Another program created a new file, which is the newest.
            Err(Errno::EXIST) => self.move_to_trash(&self.temporary)?,
            Err(error) => return Err(error.into()),
        }
        Ok(RestoreResult::ChangedMeanwhile)
    }

    /// Exchanges the name and the temporary one. `EXIST` means that another program created a file
    /// in a moment in which there was none: the name has that one, what it had before is in the
    /// trash, and the temporary name is as it was.
    fn exchange(&self, operation: &'static str) -> rustix::io::Result<()> {
        self.site.hook.before(operation);
        match self.rename_with(&self.temporary, &self.parent, &self.name, RenameFlags::EXCHANGE) {
            Err(error) if is_unsupported(error) => self.exchange_by_renames(),
            ended => ended,
        }
    }

    fn exchange_by_renames(&self) -> rustix::io::Result<()> {
        let aside = self.aside_name();
        self.move_away(&aside)?;
        self.site.hook.before("rename into place");
        let placed = self.rename_new(&self.temporary, &self.parent, &self.name);
        self.site.hook.before("rename from aside");
        let Err(error) = placed else {
            return renameat(&self.parent, &*aside, &self.parent, &*self.temporary);
        };
        match self.rename_new(&aside, &self.parent, &self.name) {
            Ok(()) => Err(error),
            Err(Errno::EXIST) => {
                // If this fails, the next restore moves it.
                let _ = self.move_to_trash(&aside);
                Err(Errno::EXIST)
            }
            Err(error) => Err(error),
        }
    }

    /// Completes or reverses an exchange by renames that a kill interrupted.
    fn clear_aside(&self) -> io::Result<()> {
        let aside = self.aside_name();
        if stat_child(&self.parent, &aside)?.is_none() {
            return Ok(());
        }
        if stat_child(&self.parent, &self.name)?.is_none() {
            self.site.hook.before("rename from aside");
            return Ok(self.rename_new(&aside, &self.parent, &self.name)?);
        }
        if stat_child(&self.parent, &self.temporary)?.is_none() {
            self.site.hook.before("rename from aside");
            return Ok(renameat(&self.parent, &*aside, &self.parent, &*self.temporary)?);
        }
        self.move_to_trash(&aside)
    }

    fn aside_name(&self) -> Vec<u8> {
        [&self.temporary, b"-aside".as_slice()].concat()
    }

    /// Disposes of the replaced file. The store has its bytes; the trash also keeps the same inode,
    /// in case an editor still has it open.
    fn discard_temporary(&self, image: &PathImage) -> io::Result<RestoreResult> {
        match self.rename_to_trash(&self.temporary) {
            Ok(()) => return Ok(RestoreResult::Restored),
            Err(Errno::XDEV) => {}
            Err(error) => return Err(error.into()),
        }
        let is_kept = match image {
            PathImage::File { content, .. } => self.site.store.read(content).is_ok(),
            PathImage::Link { .. } => true,
            PathImage::Absent | PathImage::Folder { .. } | PathImage::Uncovered { .. } => false,
        };
        if is_kept {
            self.unlink_temporary()?;
            return Ok(RestoreResult::Restored);
        }
        match self.step.target.is_leaf() {
            true => self.put_back_exchanged()?,
            false => self.put_back_moved()?,
        };
        Ok(RestoreResult::Failed(io::ErrorKind::CrossesDevices))
    }

    fn move_to_trash(&self, from: &[u8]) -> io::Result<()> {
        match self.rename_to_trash(from) {
            Ok(()) => Ok(()),
            // On another file system than the trash: renamed to a name in the same folder that no
            // later step uses.
            Err(Errno::XDEV) => {
                let mut aside = self.name.clone();
                aside.extend_from_slice(b".windlass-saved");
                Ok(self.rename_new(from, &self.parent, &aside)?)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// One step may leave several files there: a partially written one after a kill, then the
    /// replaced one.
    fn rename_to_trash(&self, from: &[u8]) -> rustix::io::Result<()> {
        const NAMES_MAX: usize = 100;
        self.site.hook.before("rename to trash");
        for attempt in 0..NAMES_MAX {
            let name = format!("{}-{attempt}", self.trash_name);
            match self.rename_new(from, self.trash, name.as_bytes()) {
                Err(Errno::EXIST) => {}
                ended => return ended,
            }
        }
        Err(Errno::EXIST)
    }

    pub(super) fn unlink_temporary(&self) -> io::Result<()> {
        self.site.hook.before("remove beside");
        match unlinkat(&self.parent, &*self.temporary, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn remove_folder(&self) -> io::Result<RestoreResult> {
        match self.image(&self.name)? {
            PathImage::Folder { .. } => {}
            PathImage::Absent => return Ok(RestoreResult::AlreadyThere),
            found if found.is_same_as(&self.step.target) => return Ok(RestoreResult::AlreadyThere),
            PathImage::File { .. } | PathImage::Link { .. } | PathImage::Uncovered { .. } => {
                return Ok(RestoreResult::ChangedMeanwhile);
            }
        }
        self.site.hook.before("remove folder");
        match unlinkat(&self.parent, &*self.name, AtFlags::REMOVEDIR) {
            Ok(()) => Ok(RestoreResult::Restored),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(RestoreResult::NotEmpty),
            Err(Errno::NOENT) => Ok(RestoreResult::AlreadyThere),
            Err(error) => Err(error.into()),
        }
    }

    /// The final mode is set after everything in the folder is done.
    pub(super) fn make_folder(&self) -> io::Result<RestoreResult> {
        self.site.hook.before("make folder");
        match rustix::fs::mkdirat(&self.parent, &*self.name, Mode::from_raw_mode(0o700)) {
            Ok(()) => Ok(RestoreResult::Restored),
            Err(Errno::EXIST) => match self.image(&self.name)? {
                PathImage::Folder { .. } => Ok(RestoreResult::AlreadyThere),
                PathImage::Absent
                | PathImage::File { .. }
                | PathImage::Link { .. }
                | PathImage::Uncovered { .. } => Ok(RestoreResult::ChangedMeanwhile),
            },
            Err(error) => Err(error.into()),
        }
    }

    fn is_as_planned(&self, image: &PathImage) -> bool {
        is_same_file(image, &self.step.current)
    }

    fn image(&self, name: &[u8]) -> io::Result<PathImage> {
        read_image(&self.parent, name, self.site.file_bytes)
    }

    /// Moves the file away, whichever it is by then, to a temporary name of ours.
    fn move_away(&self, to: &[u8]) -> rustix::io::Result<()> {
        match self.rename_with(&self.name, &self.parent, to, RenameFlags::NOREPLACE) {
            // Not by a link: the name may be another file's by the time it is removed.
            Err(error) if is_unsupported(error) => {
                renameat(&self.parent, &*self.name, &self.parent, to)
            }
            ended => ended,
        }
    }

    /// Renames a temporary name of ours to one that must be free.
    fn rename_new(&self, from: &[u8], folder: &OwnedFd, to: &[u8]) -> rustix::io::Result<()> {
        match self.rename_with(from, folder, to, RenameFlags::NOREPLACE) {
            Err(error) if is_unsupported(error) => {}
            ended => return ended,
        }
        // A link never replaces a file.
        match linkat(&self.parent, from, folder, to, AtFlags::empty()) {
            Ok(()) => return unlinkat(&self.parent, from, AtFlags::empty()),
            Err(error @ (Errno::EXIST | Errno::NOENT | Errno::XDEV)) => return Err(error),
            Err(_) => {}
        }
        match stat_child(folder, to) {
            Ok(None) => renameat(&self.parent, from, folder, to),
            Ok(Some(_)) | Err(_) => Err(Errno::EXIST),
        }
    }

    fn rename_with(
        &self,
        from: &[u8],
        folder: &OwnedFd,
        to: &[u8],
        flags: RenameFlags,
    ) -> rustix::io::Result<()> {
        match self.site.hook.has_plain_renames {
            true => Err(Errno::INVAL),
            false => renameat_with(&self.parent, from, folder, to, flags),
        }
    }
}

fn is_unsupported(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

/// Whether the bytes are equal, or size and time for files whose bytes are not stored.
fn is_same_file(found: &PathImage, expected: &PathImage) -> bool {
    if let PathImage::Uncovered { stamp, .. } = found
        && let PathImage::Uncovered { stamp: expected, .. } = expected
    {
        return stamp == expected && stamp.size > 0;
    }
    found.is_same_as(expected)
}

pub(super) fn set_folder_mode(
    site: &RestoreSite<'_>,
    path: &RelativePath,
    mode: u32,
) -> io::Result<()> {
    let folder = site.root.open_folder(path)?;
    site.hook.before("set mode");
    Ok(fchmod(folder.as_fd(), to_mode(mode))?)
}
