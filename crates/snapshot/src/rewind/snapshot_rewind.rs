//! Plans a rewind from snapshots: undoes everything between the snapshot before the first call
//! after a record and now, including changes by commands.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use windlass_journal::SnapshotStore;
use windlass_journal::snapshot_store::{RestoreStatus, SnapshotSpan};
use windlass_tool::count_changed_lines;
use windlass_workspace::{
    CancelFlag, PathImage, PathStanding, RelativePath, RestoreConsent, RestorePlan, RestoreStep,
    SnapshotId, Workspace, WorkspaceError,
};

use super::{FileRewind, OverwriteChoice, RewindError};
use crate::change_summary::classify_change;
use crate::span_changes::{list_batches, prove_by_edits, read_content};
use crate::{FileDifference, SharedWorkspace};

/// What a rewind would do to files that snapshots cover.
pub(super) struct SnapshotPlan {
    pub(super) plan: RestorePlan,
    pub(super) files: Vec<FileRewind>,
}

/// Plans a rewind to before the first of these spans. `None` if there are no snapshots to use.
pub(super) fn plan_before(
    shared: &SharedWorkspace,
    spans: &[SnapshotSpan],
    kept: &SnapshotStore,
) -> Result<Option<SnapshotPlan>, RewindError> {
    let own: Vec<&SnapshotSpan> = spans.iter().filter(|span| span.root == shared.root()).collect();
    let Some(target) = own.first().and_then(|span| parse_id(&span.from)) else { return Ok(None) };
    let planned = shared.run(|workspace| {
        let mut ours = list_batches(workspace, shared, &own)?;
        prove_by_edits(&mut ours, shared, &kept.changes());
        let plan = workspace.plan_batches(target, &ours, &CancelFlag::new())?;
        let root = workspace.root().to_owned();
        let files = plan.steps.iter().filter(|step| is_told(step));
        let files = files.map(|step| describe_step(workspace, &root, step)).collect();
        Ok(SnapshotPlan { plan, files })
    });
    match planned {
        Ok(planned) => Ok(planned),
        // Space is limited: deleted snapshots count as never taken.
        Err(WorkspaceError::NotKept(_)) => Ok(None),
        Err(error) => Err(snapshot_error(&error)),
    }
}

/// Completes an earlier rewind whose process was killed.
pub(super) fn finish_earlier(shared: &SharedWorkspace) -> Result<(), RewindError> {
    let finished = shared.run(|workspace| match workspace.has_unfinished_restore() {
        true => workspace.finish().map(drop),
        false => Ok(()),
    });
    finished.map(drop).map_err(|error| snapshot_error(&error))
}

/// Executes the plan, and returns the files that could not be restored. The rewind is recorded as a
/// span of its own, so that it can be undone too.
pub(super) fn carry_out(
    shared: &SharedWorkspace,
    kept: &SnapshotStore,
    plan: &RestorePlan,
    end: u64,
    overwrite: &OverwriteChoice,
) -> Result<Vec<PathBuf>, RewindError> {
    let from = plan.current.to_string();
    let begun = unix_millis();
    let to = Some(plan.target.to_string());
    let number = kept.begin_span(end, shared.root().to_owned(), from, to, begun)?;
    let root = shared.resolved_root();
    let consent = match overwrite {
        OverwriteChoice::Refuse | OverwriteChoice::Skip => RestoreConsent::None,
        OverwriteChoice::All => RestoreConsent::All,
        OverwriteChoice::Files(_) => {
            let steps = plan.steps.iter().map(|step| &step.path);
            let is_chosen = |path: &&RelativePath| overwrite.covers(&root.join(path.as_path()));
            RestoreConsent::Paths(steps.filter(is_chosen).cloned().collect())
        }
    };
    let report = shared
        .run(|workspace| workspace.carry_out(plan, &consent, &CancelFlag::new()))
        .map_err(|error| snapshot_error(&error))?;
    let Some(report) = report else { return Ok(Vec::new()) };
    kept.end_span(number, Vec::new(), report.after.to_string(), unix_millis())?;
    let failed = report.outcomes.iter().filter(|outcome| !outcome.result.is_restored());
    Ok(failed.map(|outcome| root.join(outcome.path.as_path())).collect())
}

/// Whether the plan has a step that is not left out.
pub(super) fn changes_anything(
    shared: &SharedWorkspace,
    plan: &RestorePlan,
    overwrite: &OverwriteChoice,
) -> bool {
    let root = shared.resolved_root();
    plan.steps.iter().any(|step| match step.standing {
        PathStanding::Unchanged => true,
        PathStanding::ChangedByOthers => overwrite.covers(&root.join(step.path.as_path())),
        PathStanding::NotKept | PathStanding::GitLocked => false,
    })
}

/// The wall clock in milliseconds since 1970; zero if it is set to an earlier time.
fn unix_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Calls `visit` with what the plan would change.
pub(super) fn visit_steps(
    shared: &SharedWorkspace,
    plan: &RestorePlan,
    name_file: impl Fn(&RelativePath) -> String,
    visit: &mut impl FnMut(FileDifference),
) -> Result<(), RewindError> {
    let visited = shared.run(|workspace| {
        for step in &plan.steps {
            if let Some(kind) = classify_change(&step.path, &step.current, &step.target) {
                visit(FileDifference {
                    path: name_file(&step.path),
                    kind,
                    before: read_content(workspace, &step.current),
                    after: read_content(workspace, &step.target),
                });
            }
        }
        Ok(())
    });
    visited.map(drop).map_err(|error| snapshot_error(&error))
}

fn parse_id(text: &str) -> Option<SnapshotId> {
    text.parse().ok()
}

fn is_told(step: &RestoreStep) -> bool {
    classify_change(&step.path, &step.current, &step.target).is_some()
}

fn describe_step(workspace: &Workspace, root: &std::path::Path, step: &RestoreStep) -> FileRewind {
    let read = |image: &PathImage| match image {
        PathImage::File { content, .. } => workspace.read(content).unwrap_or_default(),
        PathImage::Link { target } => target.clone(),
        PathImage::Absent | PathImage::Folder { .. } | PathImage::Uncovered { .. } => Vec::new(),
    };
    let [now, then] = [&step.current, &step.target]
        .map(|image| String::from_utf8_lossy(&read(image)).into_owned());
    let (deletions, insertions) = count_changed_lines(&now, &then);
    FileRewind {
        path: root.join(step.path.as_path()),
        file_state: match step.standing {
            PathStanding::Unchanged => RestoreStatus::Restorable,
            PathStanding::ChangedByOthers => RestoreStatus::ChangedByOthers,
            PathStanding::NotKept | PathStanding::GitLocked => RestoreStatus::NotStored,
        },
        is_removed: matches!(step.target, PathImage::Absent | PathImage::Folder { .. }),
        insertions,
        deletions,
    }
}

pub(super) fn list_paths(planned: &SnapshotPlan) -> Vec<PathBuf> {
    planned.files.iter().map(|file| file.path.clone()).collect()
}

fn snapshot_error(error: &WorkspaceError) -> RewindError {
    RewindError::Snapshots(error.to_string())
}
