//! Where a call would create a name: an open directory and a last name.
//!
//! The supervisor resolves a path once and acts on the directory that it found, so a link or a
//! directory that is exchanged meanwhile changes nothing. What it does not resolve exactly as the
//! caller would, such as links below `/proc`, is left to the kernel, which refuses to create.

use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::caller::Caller;
use super::creating_call::PassedPath;

/// As many as the kernel follows.
const LINKS_MAX: usize = 40;

const PROC_MAGIC: i64 = 0x9fa0;

#[derive(Debug)]
pub(super) struct CreationPlace {
    pub(super) parent: OwnedFd,
    /// Not empty, not `.` and not `..`.
    pub(super) name: Vec<u8>,
    /// A slash after the name: it must be a directory.
    pub(super) wants_directory: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LastLink {
    Follow,
    Keep,
}

impl CreationPlace {
    /// `None` if only the kernel knows what the path means.
    pub(super) fn find(
        caller: &Caller,
        passed: PassedPath,
        last: LastLink,
    ) -> Result<Option<Self>, Errno> {
        let path = caller.read_text(passed.address)?;
        if path.is_empty() {
            return Err(Errno::NOENT);
        }
        let mut base = match path.first() {
            Some(b'/') => None,
            _ => Some(caller.open_directory(passed.directory)?),
        };
        let mut path = path;
        for _ in 0..LINKS_MAX {
            let Some(place) = Self::open(base.as_ref(), &path)? else {
                return Ok(None);
            };
            if last == LastLink::Keep || place.wants_directory {
                return Ok(Some(place));
            }
            match rustix::fs::readlinkat(&place.parent, &*place.name, Vec::new()) {
                Ok(target) => {
                    path = target.into_bytes();
                    base = Some(place.parent);
                }
                // It is missing, or no link.
                Err(_) => return Ok(Some(place)),
            }
        }
        Err(Errno::LOOP)
    }

    fn open(base: Option<&OwnedFd>, path: &[u8]) -> Result<Option<Self>, Errno> {
        let whole = trim_slashes(path);
        let wants_directory = whole.len() < path.len();
        let (before, name) = match whole.iter().rposition(|byte| *byte == b'/') {
            Some(at) => (whole.get(..=at).unwrap_or_default(), whole.get(at + 1..)),
            None => (&b"."[..], Some(whole)),
        };
        let name = name.unwrap_or_default();
        if name.is_empty() || name == b"." || name == b".." {
            return Ok(None);
        }
        let base = base.map_or(CWD, AsFd::as_fd);
        let Some(parent) = open_below(base, before)? else {
            return Ok(None);
        };
        Ok(Some(Self { parent, name: name.to_vec(), wants_directory }))
    }

    pub(super) fn exists(&self) -> bool {
        rustix::fs::statat(&self.parent, &*self.name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// The name for a call, with its slash.
    pub(super) fn to_name(&self) -> Vec<u8> {
        let mut name = self.name.clone();
        if self.wants_directory {
            name.push(b'/');
        }
        name
    }

    /// The directory's path in this namespace.
    pub(super) fn read_parent_path(&self) -> Result<PathBuf, Errno> {
        let link = format!("/proc/self/fd/{}", self.parent.as_raw_fd());
        let text = rustix::fs::readlinkat(CWD, link, Vec::new())?;
        Ok(PathBuf::from(std::ffi::OsString::from_vec(text.into_bytes())))
    }
}

/// `None` if the path leads through a link that means something else for each process.
fn open_below(base: BorrowedFd<'_>, path: &[u8]) -> Result<Option<OwnedFd>, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened = rustix::fs::openat2(base, path, flags, Mode::empty(), ResolveFlags::NO_MAGICLINKS);
    match opened {
        Ok(parent) if rustix::fs::fstatfs(&parent)?.f_type == PROC_MAGIC => Ok(None),
        Ok(parent) => Ok(Some(parent)),
        Err(Errno::LOOP) => Ok(None),
        Err(error) => Err(error),
    }
}

fn trim_slashes(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |at| at + 1);
    path.get(..end).unwrap_or_default()
}
