//! When a settings file was last read: what identified it, and what it counts as saying since.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What files are taken to say, in the place of what is in them; nothing is a file that is not there.
pub(crate) type FileOverrides = BTreeMap<PathBuf, Option<String>>;

/// By this a file is known to be as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SettingsFileStamp {
    device_and_inode: (u64, u64),
    size: u64,
    mode: u32,
    written: (i64, i64),
    changed: (i64, i64),
}

impl SettingsFileStamp {
    /// Of a file; nothing, if there is none.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let metadata = path.metadata().ok()?;
        Some(Self {
            device_and_inode: (metadata.dev(), metadata.ino()),
            size: metadata.len(),
            mode: metadata.mode(),
            written: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}
