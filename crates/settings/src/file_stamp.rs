//! Identifies the version of a settings file that was last read, and overrides its content.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Texts that replace the content of files; `None` means that the file counts as missing.
pub(crate) type FileOverrides = BTreeMap<PathBuf, Option<String>>;

/// If this is equal, the file has not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SettingsFileStamp {
    device_and_inode: (u64, u64),
    size: u64,
    mode: u32,
    written: (i64, i64),
    changed: (i64, i64),
}

impl SettingsFileStamp {
    /// `None` if the file does not exist.
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
