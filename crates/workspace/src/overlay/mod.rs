//! Accepts the changes made on an overlay or a copy of the root.
//!
//! Covered paths are handled like a restore: planned, exchanged file by file, checked after the
//! exchange, and completed after a kill. Uncovered paths, such as ignored folders and git's
//! objects, are copied out of the overlay's upper folder; a change time after the trial began shows
//! that others changed the file.

mod carry_over;
mod copied_trial;
mod upper_folder;

use std::path::PathBuf;
use std::time::SystemTime;

pub(crate) use carry_over::{CarryOver, carry_over};
pub(crate) use copied_trial::plan_copied;
pub(crate) use upper_folder::{UncoveredSets, UpperFolder};

use crate::digest::SnapshotId;
use crate::relative_path::RelativePath;
use crate::restore::{PathStanding, RestorePlan, RestoreReport};

/// A trial that has ended. Snapshots of its overlay or copy are in the root's store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayTrial {
    /// The root when the trial began.
    pub before: SnapshotId,
    /// The overlay or copy when the trial ended.
    pub after: SnapshotId,
    pub files: TrialFiles,
    pub began: SystemTime,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrialFiles {
    /// The upper folder of an overlay of the root.
    Overlay(PathBuf),
    /// A copy of the root. Uncovered paths were not copied and are not changed.
    Copy(PathBuf),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayPlan {
    /// Changes of covered paths.
    pub restore: RestorePlan,
    /// Changes of uncovered paths; a folder precedes its entries.
    pub moves: Vec<OverlayMove>,
}

/// An uncovered path that the trial changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayMove {
    pub path: RelativePath,
    pub kind: OverlayMoveKind,
    /// Others changed it since the trial began: it is changed only with consent.
    pub is_changed_by_others: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverlayMoveKind {
    /// Puts a file or a link.
    Put,
    /// Creates a folder.
    MakeFolder,
    /// Removes the path recursively.
    Remove,
}

/// The result of accepting a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayReport {
    pub restore: RestoreReport,
    /// Uncovered paths that are not as the trial left them.
    pub not_moved: Vec<RelativePath>,
}

impl OverlayPlan {
    /// Paths that others changed since the trial began.
    #[must_use]
    pub fn conflicts(&self) -> Vec<&RelativePath> {
        let steps = self.restore.steps.iter();
        let steps = steps.filter(|step| step.standing == PathStanding::ChangedByOthers);
        let moves = self.moves.iter().filter(|moved| moved.is_changed_by_others);
        steps.map(|step| &step.path).chain(moves.map(|moved| &moved.path)).collect()
    }
}
