//! Accepting what was done on an overlay of the root.
//!
//! What snapshots cover is accepted like going back: planned, exchanged file by file, checked after the
//! exchange, and completed after a kill. What they do not cover, such as ignored folders and git's
//! objects, is moved out of the overlay's upper folder; there a change by others since the trial
//! began shows in the time of the file.

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

/// A trial that has ended. Snapshots of an overlay or a copy are in the store of the root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayTrial {
    /// The root before it.
    pub before: SnapshotId,
    /// The overlay after it.
    pub after: SnapshotId,
    pub files: TrialFiles,
    pub began: SystemTime,
}

/// Where a trial left its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrialFiles {
    /// What an overlay of the root collected, in its upper folder.
    Overlay(PathBuf),
    /// In a copy of the root. What snapshots do not cover was not copied, and is left alone.
    Copy(PathBuf),
}

/// What accepting a trial would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayPlan {
    /// What snapshots cover.
    pub restore: RestorePlan,
    /// What they do not, a folder before what is in it.
    pub moves: Vec<OverlayMove>,
}

/// One path outside snapshots that the trial changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayMove {
    pub path: RelativePath,
    pub kind: OverlayMoveKind,
    /// Others changed it since the trial began: it stays as it is, unless that is agreed to.
    pub is_changed_by_others: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverlayMoveKind {
    /// A file or a link comes.
    Put,
    /// A folder is made.
    MakeFolder,
    /// What is there goes, with everything in it.
    Remove,
}

/// What became of a trial that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverlayReport {
    pub restore: RestoreReport,
    /// Paths outside snapshots that are not as the trial left them.
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
