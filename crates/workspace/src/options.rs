//! The bounds of a workspace and what its caller may set.

use std::path::PathBuf;
use std::time::Duration;

use crate::content_filter::ContentFilter;

/// What a caller sets when it opens a workspace.
#[derive(Debug, Clone, Default)]
pub struct WorkspaceOptions {
    pub limits: WorkspaceLimits,
    /// The user's home folder, which is refused as a root, as is every folder above it.
    pub home: Option<PathBuf>,
    /// Lines as in a `.gitignore` at the root, weaker than every rule file.
    pub ignore_patterns: Vec<String>,
    /// The root is an overlay of the folder that the store is for. What that folder's looks know of
    /// files is used here, and nothing that is seen here is handed on to them.
    pub is_overlay: bool,
    /// Contents that are never kept.
    pub content_filter: ContentFilter,
    /// What git's packs have is not stored again. For a user to whom the modes of files apply: a program with
    /// the rights of root could write over a pack together with the files that are in it.
    pub refers_to_packs: bool,
}

/// Past a bound the answer is "not covered", never a wait.
#[derive(Debug, Clone)]
pub struct WorkspaceLimits {
    /// Larger files are known by size and time only.
    pub file_bytes: u64,
    /// The same for files that a rule ignores.
    pub ignored_file_bytes: u64,
    pub paths: u64,
    /// How long one look may take.
    pub look_time: Duration,
    /// What one opened workspace may add to the store.
    pub session_bytes: u64,
    /// What the store may take on disk.
    pub store_bytes: u64,
    /// Room to leave on the store's disk, in percent of it; 2 GiB at most.
    pub free_percent: u64,
    /// What a pack may hold when unpacked.
    pub pack_bytes: u64,
}

/// How much a look trusts the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookDepth {
    /// Reads what differs from the cache in time, size, inode or mode, and what changed lately.
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
