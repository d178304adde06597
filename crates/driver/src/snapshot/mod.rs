//! Snapshots of the working directory around calls that may change files.
//!
//! Calls that run at the same time are one batch: a snapshot is taken before the first begins and
//! after the last has ended. The one before starts with the call's arguments, the one after runs
//! during the next request, so that a turn seldom waits for either. If a snapshot fails, the batch
//! cannot be undone. If it fails for the disk, the user is asked first (`SnapshotOutage`); otherwise
//! the batch runs.

mod change_notices;
mod recorder;
mod recorder_thread;
mod snapshot_outage;

pub(crate) use change_notices::ChangeNotices;
pub(crate) use recorder::SnapshotRecorder;
pub(crate) use recorder_thread::RecorderThread;
pub(crate) use snapshot_outage::SnapshotOutage;
pub use windlass_snapshot::{
    ChangedLineCounts, FileDifference, HeldContent, PackedWorkspace, SharedWorkspace,
    SnapshotConfig, SnapshotCopy, copy_snapshot, count_differences, pack_workspace, register_fork,
    remove_unused_stores, render_difference, render_differences, unpack_workspace,
    visit_span_changes,
};
pub(crate) use windlass_snapshot::{change_summary, span_changes};
