//! Restricts a plan to what a trial in a copy changed: paths that differ between the root when the
//! trial began and the copy at its end, except those that a copy lacks.

use std::collections::BTreeSet;

use super::OverlayTrial;
use crate::change::compare_snapshots;
use crate::error::WorkspaceError;
use crate::path_image::PathImage;
use crate::relative_path::RelativePath;
use crate::restore::RestoreStep;
use crate::store::ContentStore;

pub(crate) fn plan_copied(
    store: &ContentStore,
    trial: &OverlayTrial,
    steps: &mut Vec<RestoreStep>,
) -> Result<(), WorkspaceError> {
    let changes = compare_snapshots(store, trial.before, trial.after)?;
    let touched: BTreeSet<RelativePath> = changes.into_iter().map(|change| change.path).collect();
    // Copies lack ignored folders, large files, and the `.git` file that a linked worktree shares.
    let is_uncovered = |image: &PathImage| matches!(image, PathImage::Uncovered { .. });
    let lacks = |step: &RestoreStep| {
        let is_git = step.path.parts().next_back() == Some(b".git".as_slice());
        is_uncovered(&step.current)
            || is_uncovered(&step.target)
            || is_git && step.target == PathImage::Absent
    };
    steps.retain(|step| touched.contains(&step.path) && !lacks(step));
    Ok(())
}
