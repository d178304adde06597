//! The names that must not be created.

use std::collections::BTreeSet;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::creation_place::CreationPlace;

/// Each is known by its directory's inode and by its path: a directory may be reached in several
/// ways, and one that is missing has no inode yet.
#[derive(Debug, Default)]
pub(super) struct RefusedNames {
    in_directory: BTreeSet<(u64, u64, String)>,
    paths: BTreeSet<String>,
}

impl RefusedNames {
    pub(super) fn open(paths: &[PathBuf]) -> Self {
        let mut refused = Self::default();
        for path in paths {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                continue;
            };
            refused.paths.insert(fold(path.as_os_str().as_bytes()));
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let opened = rustix::fs::open(parent, flags, Mode::empty());
            if let Some((device, inode)) = opened.ok().and_then(|parent| identify(&parent)) {
                refused.in_directory.insert((device, inode, fold(name.as_bytes())));
            }
        }
        refused
    }

    pub(super) fn contains(&self, place: &CreationPlace, parent: &Path) -> bool {
        let whole = parent.join(std::ffi::OsStr::from_bytes(&place.name));
        let by_directory = identify(&place.parent).is_none_or(|(device, inode)| {
            self.in_directory.contains(&(device, inode, fold(&place.name)))
        });
        by_directory || self.paths.contains(&fold(whole.as_os_str().as_bytes()))
    }
}

fn identify(directory: impl AsFd) -> Option<(u64, u64)> {
    let found = rustix::fs::fstat(directory).ok()?;
    Some((found.st_dev, found.st_ino))
}

/// Some file systems do not distinguish upper and lower case.
fn fold(name: &[u8]) -> String {
    String::from_utf8_lossy(name).to_uppercase().to_lowercase()
}
