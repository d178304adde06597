//! Snapshots of a folder and what they are used for: listing changes, restoring, copying an earlier
//! state to another folder, and packing it into one stream.
//!
//! Blocking and synchronous. Starts no program, follows no symlink, and writes only to the root and
//! the store. Which effects a snapshot belongs to is left to the caller.

mod cancel_flag;
mod change;
mod content_filter;
mod copy;
mod digest;
mod disk_hook;
mod error;
mod folder_changes;
mod folder_record;
mod git_index;
mod git_packs;
mod held_objects;
mod known_folders;
mod look;
mod options;
mod overlay;
mod pack;
mod path_image;
mod raw_stat;
mod relative_path;
mod restore;
mod root_folder;
mod store;
mod workspace;

pub use cancel_flag::CancelFlag;
pub use content_filter::ContentFilter;
pub use copy::CopyReport;
pub use digest::{ContentDigest, SnapshotId};
pub use error::{PackProblem, WorkspaceError};
pub use git_packs::do_file_modes_apply;
pub use look::SnapshotReport;
pub use options::{LookDepth, WorkspaceLimits, WorkspaceOptions};
pub use overlay::{
    OverlayMove, OverlayMoveKind, OverlayPlan, OverlayReport, OverlayTrial, TrialFiles,
};
pub use pack::{PackOptions, PackReport};
pub use path_image::{PathChange, PathImage, UncoveredPath, UncoveredReason, UncoveredStamp};
pub use relative_path::RelativePath;
pub use restore::{
    BatchProof, PathStanding, RestoreConsent, RestoreOutcome, RestorePlan, RestoreReport,
    RestoreResult, RestoreStep, SnapshotBatch,
};
pub use store::{StoreUsage, remove_store};
pub use workspace::Workspace;
