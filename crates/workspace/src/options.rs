//! Limits and options of a workspace.

use std::path::PathBuf;
use std::time::Duration;

use crate::content_filter::ContentFilter;

#[derive(Debug, Clone, Default)]
pub struct WorkspaceOptions {
    pub limits: WorkspaceLimits,
    /// The user's home folder. It and every folder above it are refused as root.
    pub home: Option<PathBuf>,
    /// Lines as in a `.gitignore` at the root; every rule file overrides them.
    pub ignore_patterns: Vec<String>,
    /// Folders that are not part of snapshots if they lie below the root, with everything in them.
    pub excluded_folders: Vec<PathBuf>,
    /// The root is an overlay of the folder the store belongs to. The look cache of that folder is
    /// used, but not updated from this workspace.
    pub is_overlay: bool,
    /// Contents that are never stored.
    pub content_filter: ContentFilter,
    /// The filter may know less than that of an earlier process: what that one refused stays
    /// refused until it changes.
    pub keeps_refused: bool,
    /// Does not store contents that git's packs have. Only for users restricted by file modes: a
    /// program running as root could overwrite a pack together with the files in it.
    pub refers_to_packs: bool,
}

/// Paths above a limit on bytes are "not covered"; `paths` and `look_time` fail the look.
#[derive(Debug, Clone)]
pub struct WorkspaceLimits {
    /// For larger files, only size and time are recorded.
    pub file_bytes: u64,
    /// The same limit for ignored files.
    pub ignored_file_bytes: u64,
    pub paths: u64,
    /// Time limit of one look.
    pub look_time: Duration,
    /// Bytes that one opened workspace may add to the store.
    pub session_bytes: u64,
    /// Disk space the store may take.
    pub store_bytes: u64,
    /// Free space to leave on the store's disk, in percent of its size; 2 GiB at most.
    pub free_percent: u64,
    /// Unpacked size limit of a pack.
    pub pack_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookDepth {
    /// Reads files that differ from the cache in time, size, inode or mode, or that changed
    /// recently.
    Quick,
    /// Reads every file.
    Thorough,
}

impl Default for WorkspaceLimits {
    fn default() -> Self {
        Self {
            file_bytes: 16 << 20,
            ignored_file_bytes: 1 << 20,
            paths: 200_000,
            look_time: Duration::from_secs(10),
            session_bytes: 512 << 20,
            store_bytes: 2 << 30,
            free_percent: 5,
            pack_bytes: 2 << 30,
        }
    }
}
