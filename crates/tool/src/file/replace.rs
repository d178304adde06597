//! Replaces a file: writes a temporary file beside it, syncs it, and renames it.
//!
//! A concurrent reader sees the old or the new content, and a full disk leaves the old one. The
//! mode is kept; owner and extended attributes too, if permitted. The directory is held open, so
//! that it cannot be exchanged between the checks and the rename.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::buffer::spare_capacity;
use rustix::fs::{Access, AtFlags, Gid, Mode, OFlags, Uid, XattrFlags};
use rustix::io::Errno;

use super::backup::{PendingFileChange, read_current_content};
use super::editor_files::write_through_editor;
use super::file_context::FileContext;
use super::open::{explain_errno, open_without_links};
use super::system_calls::{PATH_ONLY, device_of, to_mode};

static TEMPORARY_COUNTER: AtomicU64 = AtomicU64::new(0);

/// The system's limits for extended attributes and for the list of their names.
const ATTRIBUTE_BYTES_MAX: usize = 64 * 1024;

/// Writes the file. `old` is what it replaces, `None` if nothing may exist yet. Returns the
/// metadata of the new file.
pub(crate) fn replace_file(
    files: &FileContext,
    path: &Path,
    old: Option<&Metadata>,
    content: &[u8],
) -> Result<Metadata, String> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(format!("`{}` is not a path to a file.", path.display()));
    };
    let flags = PATH_ONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory =
        open_without_links(files, parent, flags).map_err(|errno| explain_errno(parent, errno))?;
    let target = ReplaceTarget { directory, name };
    if let Some(backup) = &files.backup {
        let failed = |error: io::Error| {
            format!("`{}` could not be read: {error}. Nothing was changed.", path.display())
        };
        let before = old
            .map(|_| read_current_content(&target.directory, name))
            .transpose()
            .map_err(failed)?;
        let mode = old.map(Metadata::mode);
        backup.back_up(&PendingFileChange {
            path,
            before: before.as_deref(),
            after: content,
            mode,
        })?;
    }
    write_target(files, path, &target, old, content).map_err(|error| match error {
        ReplaceError::Editor(why) => why,
        ReplaceError::ChangedMeanwhile => format!(
            "`{}` was changed by another program just now. Read it again before you change it.",
            path.display()
        ),
        ReplaceError::Io(error) => format!(
            "`{}` could not be written on the file system of `{}`: {error}. Nothing was changed.",
            path.display(),
            parent.display()
        ),
    })
}

/// Writes through the editor if there is one, else directly.
fn write_target(
    files: &FileContext,
    path: &Path,
    target: &ReplaceTarget<'_>,
    old: Option<&Metadata>,
    content: &[u8],
) -> Result<Metadata, ReplaceError> {
    target.check_writable(old)?;
    target.check_unchanged(old)?;
    if !write_through_editor(files, path, content).map_err(ReplaceError::Editor)? {
        return target.write(old, content);
    }
    target.read_metadata().map_err(|error| {
        ReplaceError::Editor(format!(
            "The editor took the text of `{}`, but the file cannot be read on disk: {error}. It may \
             not be saved yet.",
            path.display()
        ))
    })
}

/// A note for files with several hard links: they are separate files now. Writing in place would
/// preserve them, but leave half a file if we were killed.
pub(crate) fn render_hard_link_note(old: Option<&Metadata>) -> String {
    match old.map_or(1, MetadataExt::nlink) {
        0 | 1 => String::new(),
        names => format!(
            " It had {names} names (hard links); only this one was changed, the others still hold \
             the old text."
        ),
    }
}

/// Like [`replace_file`], and creates missing directories.
pub(crate) fn write_file(
    files: &FileContext,
    path: &Path,
    old: Option<&Metadata>,
    content: &[u8],
) -> Result<Metadata, String> {
    if let (None, Some(parent)) = (old, path.parent())
        && !parent.is_dir()
    {
        // Existing directories must not lead elsewhere through a symlink; new ones cannot.
        if let Some(nearest) = parent.ancestors().find(|place| place.exists()) {
            let flags = PATH_ONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            open_without_links(files, nearest, flags)
                .map_err(|errno| explain_errno(nearest, errno))?;
        }
        std::fs::create_dir_all(parent)
            .map_err(|error| format!("`{}` could not be made: {error}.", parent.display()))?;
    }
    replace_file(files, path, old, content)
}

enum ReplaceError {
    ChangedMeanwhile,
    /// A complete message.
    Editor(String),
    Io(io::Error),
}

impl From<Errno> for ReplaceError {
    fn from(errno: Errno) -> Self {
        Self::Io(errno.into())
    }
}

impl From<io::Error> for ReplaceError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

struct ReplaceTarget<'a> {
    directory: OwnedFd,
    name: &'a OsStr,
}

impl ReplaceTarget<'_> {
    fn write(&self, old: Option<&Metadata>, content: &[u8]) -> Result<Metadata, ReplaceError> {
        let number = TEMPORARY_COUNTER.fetch_add(1, Ordering::Relaxed);
        let temporary = format!(".windlass-{}-{number}.tmp", std::process::id());
        let written = self.write_temporary(&temporary, old, content).and_then(|metadata| {
            self.check_unchanged(old)?;
            rustix::fs::renameat(&self.directory, &temporary, &self.directory, self.name)?;
            self.sync_directory();
            Ok(metadata)
        });
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&self.directory, &temporary, AtFlags::empty());
        }
        written
    }

    /// A rename does not need write permission for the file, but changing it should.
    fn check_writable(&self, old: Option<&Metadata>) -> Result<(), ReplaceError> {
        if old.is_some() {
            rustix::fs::accessat(&self.directory, self.name, Access::WRITE_OK, AtFlags::EACCESS)?;
        }
        Ok(())
    }

    fn read_metadata(&self) -> io::Result<Metadata> {
        let flags = PATH_ONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(&self.directory, self.name, flags, Mode::empty())?;
        File::from(opened).metadata()
    }

    /// Makes the rename durable. The content is safe either way, and some file systems do not
    /// support this, so errors are ignored.
    fn sync_directory(&self) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if let Ok(directory) = rustix::fs::openat(&self.directory, ".", flags, Mode::empty()) {
            let _ = rustix::fs::fsync(directory);
        }
    }

    fn write_temporary(
        &self,
        name: &str,
        old: Option<&Metadata>,
        content: &[u8],
    ) -> Result<Metadata, ReplaceError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        // A new file gets the mode of the umask; a replacement stays private until it gets the mode
        // of the original.
        let mode = if old.is_some() { 0o600 } else { 0o666 };
        let opened = rustix::fs::openat(&self.directory, name, flags, Mode::from_raw_mode(mode))?;
        let mut file = File::from(opened);
        file.write_all(content)?;
        if let Some(old) = old {
            let new = file.metadata()?;
            if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
                let uid = Uid::from_raw(old.uid());
                let gid = Gid::from_raw(old.gid());
                // Only root may change the owner; otherwise the file belongs to this user.
                let _ = rustix::fs::fchown(&file, Some(uid), Some(gid));
            }
            self.copy_attributes(&file);
            rustix::fs::fchmod(&file, to_mode(old.mode()))?;
        }
        file.sync_all()?;
        Ok(file.metadata()?)
    }

    /// Copies access control lists and other attributes, as far as permitted.
    fn copy_attributes(&self, to: &File) {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(from) = rustix::fs::openat(&self.directory, self.name, flags, Mode::empty()) else {
            return;
        };
        let mut names = Vec::with_capacity(ATTRIBUTE_BYTES_MAX);
        if rustix::fs::flistxattr(&from, spare_capacity(&mut names)).is_err() {
            return;
        }
        for name in names.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
            let mut value = Vec::with_capacity(ATTRIBUTE_BYTES_MAX);
            if rustix::fs::fgetxattr(&from, name, spare_capacity(&mut value)).is_ok() {
                let _ = rustix::fs::fsetxattr(to, name, &value, XattrFlags::empty());
            }
        }
    }

    /// Is the file to be replaced still the one that was read?
    fn check_unchanged(&self, old: Option<&Metadata>) -> Result<(), ReplaceError> {
        let now = rustix::fs::statat(&self.directory, self.name, AtFlags::SYMLINK_NOFOLLOW);
        match (old, now) {
            (None, Err(Errno::NOENT)) => Ok(()),
            (Some(old), Ok(now)) => {
                let same = now.st_ino == old.ino()
                    && device_of(&now) == old.dev()
                    && u64::try_from(now.st_size).is_ok_and(|size| size == old.len())
                    && i128::from(now.st_mtime) == i128::from(old.mtime())
                    && i128::from(now.st_mtime_nsec) == i128::from(old.mtime_nsec());
                if same { Ok(()) } else { Err(ReplaceError::ChangedMeanwhile) }
            }
            (None, Ok(_)) | (Some(_), Err(Errno::NOENT)) => Err(ReplaceError::ChangedMeanwhile),
            (_, Err(errno)) => Err(errno.into()),
        }
    }
}
