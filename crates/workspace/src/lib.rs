//! Snapshots of a folder and what they are good for: the list of what changed, going back, a copy of
//! a moment beside the original, and one stream to hand over.
//!
//! Blocking and synchronous. No program is started, no link is followed, and nothing outside the root
//! and the store is written. Which effects a snapshot belongs to is the caller's knowledge.

mod cancel_flag;
mod change;
mod content_filter;
mod copy;
mod digest;
mod disk_hook;
mod error;
mod folder_record;
mod git_index;
mod git_packs;
mod held_objects;
mod look;
mod options;
mod overlay;
mod pack;
mod path_image;
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
    PathStanding, RestoreConsent, RestoreOutcome, RestorePlan, RestoreReport, RestoreResult,
    RestoreStep, SnapshotBatch,
};
pub use store::{StoreUsage, remove_store};
pub use workspace::Workspace;
