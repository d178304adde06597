//! Snapshots of the working directory around calls that may change files.
//!
//! Calls that run at the same time are one batch: the directory is looked at before the first begins
//! and after the last has ended. The look before begins with the call's arguments, the look after goes
//! on beside the next request, so that a turn seldom waits for either. A look that fails costs the way
//! back over that batch, never the batch.

mod change_notices;
pub(crate) mod change_summary;
mod garbage;
mod recorder;
mod recorder_thread;
mod render_diff;
mod shared_workspace;
mod snapshot_copy;
mod snapshot_pack;
pub(crate) mod span_changes;

pub(crate) use change_notices::ChangeNotices;
pub use garbage::remove_unused_stores;
pub(crate) use recorder::SnapshotRecorder;
pub(crate) use recorder_thread::RecorderThread;
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
