//! Puts new content in the place of a file: a temporary file beside it, synced, then renamed.
//!
//! Whoever reads meanwhile sees the old content or the new, and a full disk leaves the old. The
//! mode is kept; the owner and extended attributes too, where we may. The directory is held open, so that nobody can swap
//! it for another between the checks and the rename.

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

use super::keep::{Keeping, held};
use super::open::{problem_with, without_links};
use crate::surroundings::Surroundings;

static TEMPORARY: AtomicU64 = AtomicU64::new(0);

/// The longest extended attribute, and the longest list of their names, that the system has.
const ATTRIBUTE_BYTES_MAX: usize = 64 * 1024;

/// Writes the file. `old` is what is being replaced, `None` when nothing may be there yet.
/// Returns the metadata of the new file.
pub(crate) fn replace(
    surroundings: &Surroundings,
    path: &Path,
    old: Option<&Metadata>,
    content: &[u8],
) -> Result<Metadata, String> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(format!("`{}` is not a path to a file.", path.display()));
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory =
        without_links(surroundings, parent, flags).map_err(|errno| problem_with(parent, errno))?;
    let target = Target { directory, name };
    if let Some(keeper) = &surroundings.keeper {
        let failed = |error: io::Error| {
            format!("`{}` could not be read: {error}. Nothing was changed.", path.display())
        };
        let before = old.map(|_| held(&target.directory, name)).transpose().map_err(failed)?;
        let mode = old.map(Metadata::mode);
        keeper.keep(&Keeping { path, before: before.as_deref(), after: content, mode })?;
    }
    target.write(old, content).map_err(|error| match error {
        Problem::Changed => format!(
            "`{}` was changed by somebody else just now. Read it again before you change it.",
            path.display()
        ),
        Problem::System(error) => format!(
            "`{}` could not be written on the file system of `{}`: {error}. Nothing was changed.",
            path.display(),
            parent.display()
        ),
    })
}

/// What must be said of a file with several names: those names are one file no longer. To write into
/// it would keep them together, and leave half a file behind when we are killed on the way.
pub(crate) fn parted(old: Option<&Metadata>) -> String {
    match old.map_or(1, MetadataExt::nlink) {
        0 | 1 => String::new(),
        names => format!(
            " It had {names} names (hard links); only this one was changed, the others still hold \
             the old text."
        ),
    }
}

/// Like [`replace`], making the directories on the way to a new file.
pub(crate) fn write(
    surroundings: &Surroundings,
    path: &Path,
    old: Option<&Metadata>,
    content: &[u8],
) -> Result<Metadata, String> {
    if let (None, Some(parent)) = (old, path.parent())
        && !parent.is_dir()
    {
        // What is there already must not lead elsewhere; what is made now cannot.
        if let Some(nearest) = parent.ancestors().find(|place| place.exists()) {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            without_links(surroundings, nearest, flags)
                .map_err(|errno| problem_with(nearest, errno))?;
        }
        std::fs::create_dir_all(parent)
            .map_err(|error| format!("`{}` could not be made: {error}.", parent.display()))?;
    }
    replace(surroundings, path, old, content)
}

enum Problem {
    Changed,
    System(io::Error),
}

impl From<Errno> for Problem {
    fn from(errno: Errno) -> Self {
        Self::System(errno.into())
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::System(error)
    }
}

struct Target<'a> {
    directory: OwnedFd,
    name: &'a OsStr,
}

impl Target<'_> {
    fn write(&self, old: Option<&Metadata>, content: &[u8]) -> Result<Metadata, Problem> {
        if old.is_some() {
            // A rename needs no right to write the file, but changing it should.
            rustix::fs::accessat(&self.directory, self.name, Access::WRITE_OK, AtFlags::EACCESS)?;
        }
        let number = TEMPORARY.fetch_add(1, Ordering::Relaxed);
        let temporary = format!(".windlass-{}-{number}.tmp", std::process::id());
        let written = self.fill(&temporary, old, content).and_then(|metadata| {
            self.check(old)?;
            rustix::fs::renameat(&self.directory, &temporary, &self.directory, self.name)?;
            self.settle();
            Ok(metadata)
        });
        if written.is_err() {
            let _ = rustix::fs::unlinkat(&self.directory, &temporary, AtFlags::empty());
        }
        written
    }

    /// Makes the new name last through a power cut. The content is safe either way, and some file
    /// systems do not know the request, so a failure is no news.
    fn settle(&self) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if let Ok(directory) = rustix::fs::openat(&self.directory, ".", flags, Mode::empty()) {
            let _ = rustix::fs::fsync(directory);
        }
    }

    fn fill(
        &self,
        name: &str,
        old: Option<&Metadata>,
        content: &[u8],
    ) -> Result<Metadata, Problem> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        // A new file gets what the user's mask allows; a copy is nobody's business until it has
        // the mode of the original.
        let mode = if old.is_some() { 0o600 } else { 0o666 };
        let opened = rustix::fs::openat(&self.directory, name, flags, Mode::from_raw_mode(mode))?;
        let mut file = File::from(opened);
        file.write_all(content)?;
        if let Some(old) = old {
            let new = file.metadata()?;
            if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
                let (uid, gid) = (Uid::from_raw(old.uid()), Gid::from_raw(old.gid()));
                // Only root may give files away; for others the editor becomes the owner.
                let _ = rustix::fs::fchown(&file, Some(uid), Some(gid));
            }
            self.copy_attributes(&file);
            rustix::fs::fchmod(&file, Mode::from_raw_mode(old.mode() & 0o7777))?;
        }
        file.sync_all()?;
        Ok(file.metadata()?)
    }

    /// Access lists, labels and notes of users go along, as far as we may.
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

    /// Is what we are about to replace still what we read?
    fn check(&self, old: Option<&Metadata>) -> Result<(), Problem> {
        let now = rustix::fs::statat(&self.directory, self.name, AtFlags::SYMLINK_NOFOLLOW);
        match (old, now) {
            (None, Err(Errno::NOENT)) => Ok(()),
            (Some(old), Ok(now)) => {
                let same = now.st_ino == old.ino()
                    && now.st_dev == old.dev()
                    && u64::try_from(now.st_size).is_ok_and(|size| size == old.len())
                    && i128::from(now.st_mtime) == i128::from(old.mtime())
                    && i128::from(now.st_mtime_nsec) == i128::from(old.mtime_nsec());
                if same { Ok(()) } else { Err(Problem::Changed) }
            }
            (None, Ok(_)) | (Some(_), Err(Errno::NOENT)) => Err(Problem::Changed),
            (_, Err(errno)) => Err(errno.into()),
        }
    }
}
