//! The snapshots of a working directory that sessions share: opened when first needed, compared, shown as
//! differences, copied, packed, and given up when no session needs them. When one is taken is decided by
//! the driver.

pub mod change_summary;
mod foreign_batches;
mod garbage;
mod render_diff;
mod shared_workspace;
mod snapshot_copy;
mod snapshot_pack;
pub mod span_changes;

pub use garbage::remove_unused_stores;
pub use render_diff::{
    ChangedLineCounts, count_differences, render_difference, render_differences,
};
pub use shared_workspace::SharedWorkspace;
pub use snapshot_copy::{SnapshotCopy, copy_snapshot};
pub use snapshot_pack::{pack_workspace, unpack_workspace};
pub use span_changes::{FileDifference, HeldContent, visit_span_changes};

use std::path::PathBuf;
use std::time::Duration;

/// Where snapshots are kept, and what may be in them.
#[derive(Clone, Debug, Default)]
pub struct SnapshotConfig {
    /// A folder for one working directory; sessions there share it.
    pub store: PathBuf,
    /// The user's home, which is never kept as a whole.
    pub home: Option<PathBuf>,
    /// The most bytes the folder may take. [default: 2 GiB]
    pub store_bytes_max: Option<u64>,
    /// How long snapshots of a session that has ended are kept. [default: as long as the session]
    pub age_max: Option<Duration>,
    /// The directory is an overlay of the one that the store is for: a trial.
    pub is_overlay: bool,
}
