//! The snapshots of a working directory that its sessions share: opened on first use, compared,
//! rendered as diffs, restored, copied, packed, and removed when no session needs them. The driver
//! decides when to take one.

pub mod change_summary;
mod foreign_batches;
mod garbage;
mod render_diff;
pub mod rewind;
mod shared_workspace;
mod snapshot_copy;
mod snapshot_pack;
pub mod span_changes;
mod uncovered_report;

pub use garbage::{register_fork, remove_unused_stores};
pub use render_diff::{
    ChangedLineCounts, count_differences, render_difference, render_differences,
};
pub use shared_workspace::SharedWorkspace;
pub use snapshot_copy::{SnapshotCopy, copy_snapshot};
pub use snapshot_pack::{PackedWorkspace, pack_workspace, unpack_workspace};
pub use span_changes::{FileDifference, HeldContent, visit_span_changes};

use std::path::PathBuf;
use std::time::Duration;

/// Where snapshots are stored, and their limits.
#[derive(Clone, Debug, Default)]
pub struct SnapshotConfig {
    /// The store folder of one working directory, shared by all sessions there.
    pub store: PathBuf,
    /// The user's home, of which no snapshots are taken.
    pub home: Option<PathBuf>,
    /// Size limit of the store in bytes. [default: 2 GiB]
    pub store_bytes_max: Option<u64>,
    /// Folders of which no snapshots are taken, even if they lie in the directory: sessions are
    /// written there meanwhile.
    pub excluded_folders: Vec<PathBuf>,
    /// How long snapshots of an ended session are kept. [default: as long as the session]
    pub age_max: Option<Duration>,
    /// The directory is an overlay, for a trial, of the one the store belongs to.
    pub is_overlay: bool,
}
