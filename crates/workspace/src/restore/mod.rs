//! Going back to a snapshot: a plan first, then one exchange a file, checked after the exchange.

mod carry_out;
mod place;
mod plan;
mod restore_log;

use std::collections::BTreeSet;

pub(crate) use carry_out::{carry_out, empty_trash, finish};
pub(crate) use place::RestoreSite;
pub use plan::SnapshotBatch;
pub(crate) use plan::{PlanRequest, build_plan, list_batch_changes};
pub(crate) use restore_log::has_log;

use crate::digest::SnapshotId;
use crate::path_image::PathImage;
use crate::relative_path::RelativePath;

/// What going back to a snapshot would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestorePlan {
    pub target: SnapshotId,
    /// The look that the plan was made from. It is also the way back.
    pub current: SnapshotId,
    /// Sorted by path. Paths that are as they should be are not listed.
    pub steps: Vec<RestoreStep>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreStep {
    pub path: RelativePath,
    pub target: PathImage,
    pub current: PathImage,
    pub standing: PathStanding,
}

/// Whether a path may go back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathStanding {
    /// As we left it: it goes back.
    Unchanged,
    /// Another program changed it, before or after us: only with consent.
    ChangedByOthers,
    /// What was there is not in the store, or what is there now is not: it stays. So does all of a
    /// repository's state if a part of it is not kept.
    NotKept,
    /// Git works in this repository at the moment: its state stays.
    GitLocked,
}

/// Which paths that others changed may go back all the same.
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

/// What came of going back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreReport {
    /// The state before: going back to it takes this restore back.
    pub before: SnapshotId,
    /// The state after. Equal to `before` when nothing could be done or no look could be taken.
    pub after: SnapshotId,
    /// One for each step of the plan, in its order.
    pub outcomes: Vec<RestoreOutcome>,
    /// Cancelled between two files: the same plan made anew does the rest.
    pub is_cancelled: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreOutcome {
    pub path: RelativePath,
    pub result: RestoreResult,
}

/// What became of one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestoreResult {
    Restored,
    /// It was as it should be.
    AlreadyThere,
    /// No consent, or nothing to put there; see the step's standing.
    Skipped,
    /// It changed between plan and exchange. What was found there is there again.
    ChangedMeanwhile,
    /// A folder that is not empty stands in the way or stays.
    NotEmpty,
    /// A folder on the way is a link, another mount or gone.
    NotReachable,
    /// The content is missing in the store or damaged.
    NotKept,
    /// The system refused; nothing was changed at this path.
    Failed(std::io::ErrorKind),
    /// The restore was cancelled before its turn.
    NotDone,
}

impl RestoreResult {
    /// The path is as the plan wanted it.
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
