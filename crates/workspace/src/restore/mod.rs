//! Restores a snapshot: first a plan, then one exchange per file, checked after the exchange.

mod carry_out;
mod place;
mod plan;
mod restore_log;

use std::collections::BTreeSet;

pub(crate) use carry_out::{carry_out, empty_trash, finish};
pub(crate) use place::RestoreSite;
pub use plan::{BatchProof, SnapshotBatch};
pub(crate) use plan::{PlanRequest, build_plan, list_batch_changes};
pub(crate) use restore_log::has_log;

use crate::digest::SnapshotId;
use crate::path_image::PathImage;
use crate::relative_path::RelativePath;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestorePlan {
    pub target: SnapshotId,
    /// The snapshot the plan was made from. Restoring it undoes the restore.
    pub current: SnapshotId,
    /// Sorted by path. Paths that already match the target are not listed.
    pub steps: Vec<RestoreStep>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreStep {
    pub path: RelativePath,
    pub target: PathImage,
    pub current: PathImage,
    pub standing: PathStanding,
}

/// Whether a path may be restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathStanding {
    /// As this session left it: it is restored.
    Unchanged,
    /// Another program changed it, before or after us: restored only with consent.
    ChangedByOthers,
    /// The target content or the current content is not in the store: not restored. If part of a
    /// repository's git state is not stored, none of that state is restored.
    NotKept,
    /// A git command holds this repository's lock: its state is not restored.
    GitLocked,
}

/// The paths changed by others that may be restored nevertheless.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RestoreConsent {
    #[default]
    None,
    Paths(BTreeSet<RelativePath>),
    All,
}

impl RestoreConsent {
    #[must_use]
    pub fn covers(&self, path: &RelativePath) -> bool {
        match self {
            Self::None => false,
            Self::Paths(paths) => paths.contains(path),
            Self::All => true,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreReport {
    /// The snapshot before: restoring it undoes this restore.
    pub before: SnapshotId,
    /// The snapshot after. Equal to `before` when nothing was done or the look failed.
    pub after: SnapshotId,
    /// One per step of the plan, in the same order.
    pub outcomes: Vec<RestoreOutcome>,
    /// Cancelled between two files: a new plan for the same target does the rest.
    pub is_cancelled: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreOutcome {
    pub path: RelativePath,
    pub result: RestoreResult,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreResult {
    Restored,
    /// The path already matched the target.
    AlreadyThere,
    /// No consent, or its content is not stored; see the step's standing.
    Skipped,
    /// Changed between plan and exchange. What was found there was put back.
    ChangedMeanwhile,
    /// A folder that is not empty is in the way or is kept.
    NotEmpty,
    /// A parent folder is a symlink, on another mount, or missing.
    NotReachable,
    /// The content is missing from the store or damaged.
    NotKept,
    /// A system call failed; nothing was changed at this path.
    Failed(std::io::ErrorKind),
    /// The restore was cancelled before this step.
    NotDone,
}

impl RestoreResult {
    /// Whether the path is now as the plan wanted it.
    #[must_use]
    pub fn is_restored(self) -> bool {
        match self {
            Self::Restored | Self::AlreadyThere => true,
            Self::Skipped
            | Self::ChangedMeanwhile
            | Self::NotEmpty
            | Self::NotReachable
            | Self::NotKept
            | Self::Failed(_)
            | Self::NotDone => false,
        }
    }
}
