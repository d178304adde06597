//! Previews and accepts the changes of a trial.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use windlass_journal::{Durability, SnapshotLimits, SnapshotStore};
use windlass_workspace::{
    CancelFlag, OverlayMoveKind, OverlayPlan, OverlayTrial, RelativePath, RestoreConsent,
    SnapshotId, TrialFiles, Workspace, WorkspaceError,
};

use super::Trial;
use crate::rewind::OverwriteChoice;
use crate::snapshot::change_summary::classify_change;
use crate::snapshot::span_changes::read_content;
use crate::snapshot::{FileDifference, SharedWorkspace};

/// What accepting a trial would change now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrialPreview {
    /// Files that would change, by path.
    pub files: Vec<FileDifference>,
    /// Changes in places that snapshots do not cover.
    pub outside: Vec<OutsideChange>,
    /// Paths that others changed since the trial began.
    pub conflicts: Vec<PathBuf>,
    /// Would files of git itself change?
    pub changes_git: bool,
}

/// Changes below one folder that snapshots do not cover.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsideChange {
    /// The topmost folder.
    pub path: String,
    /// The number of entries that would be added, changed or removed.
    pub count: usize,
}

impl TrialPreview {
    /// Nothing would change.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.files.is_empty() && self.outside.is_empty() && !self.changes_git
    }
}

/// The result of accepting a trial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcceptedTrial {
    /// Files that changed.
    pub files: usize,
    /// Paths that differ from the trial's result.
    pub left: Vec<PathBuf>,
}

/// Why a trial cannot be accepted.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// Others have changed files since it began. Nothing was done.
    #[error("changed by others since the trial began: {}", crate::rewind::join_paths(.0))]
    ChangedByOthers(Vec<PathBuf>),
    /// A trial is accepted only once its run is over.
    #[error("the trial has not ended")]
    NotEnded,
    /// The snapshots or the disk failed.
    #[error("{0}")]
    Snapshots(String),
}

impl Trial {
    /// Returns what accepting it would change now. Blocks.
    ///
    /// # Errors
    ///
    /// It has not ended, or its snapshots cannot be read.
    pub fn preview(&self, shared: &SharedWorkspace) -> Result<TrialPreview, TrialError> {
        let trial = self.overlay()?;
        run(shared, |workspace| {
            let plan = plan_trial(workspace, &trial)?;
            Ok(describe_plan(workspace, &plan))
        })
    }

    /// Accepts it, and deletes it. Blocks.
    ///
    /// # Errors
    ///
    /// As for [`Trial::preview`]; also if others changed files since and may not be overwritten.
    /// The trial is kept then.
    pub fn accept(
        &self,
        shared: &SharedWorkspace,
        overwrite: &OverwriteChoice,
    ) -> Result<AcceptedTrial, TrialError> {
        let trial = self.overlay()?;
        let root = &self.record.root;
        let (accepted, is_over) = run(shared, |workspace| {
            let plan = plan_trial(workspace, &trial)?;
            let conflicts: Vec<PathBuf> =
                plan.conflicts().into_iter().map(|path| root.join(path.as_path())).collect();
            if *overwrite == OverwriteChoice::Refuse && !conflicts.is_empty() {
                return Ok(Err(TrialError::ChangedByOthers(conflicts)));
            }
            let consent = match overwrite {
                OverwriteChoice::Refuse | OverwriteChoice::Skip => RestoreConsent::None,
                OverwriteChoice::All => RestoreConsent::All,
                OverwriteChoice::Files(chosen) => {
                    let is_chosen =
                        |path: &&&RelativePath| chosen.contains(&root.join(path.as_path()));
                    let conflicts = plan.conflicts();
                    let agreed = conflicts.iter().filter(is_chosen);
                    RestoreConsent::Paths(agreed.map(|path| (*path).clone()).collect())
                }
            };
            let files = describe_plan(workspace, &plan).files.len();
            // First, so that a rewind knows of it if this process is killed in the middle.
            let span = match self.begin_span(shared, plan.restore.current) {
                Ok(span) => span,
                Err(error) => return Ok(Err(error)),
            };
            let report = workspace.accept_trial(&trial, &plan, &consent, &CancelFlag::new())?;
            if let Some(span) = span
                && let Err(error) = span.end(report.restore.after)
            {
                return Ok(Err(error));
            }
            let outcomes = report.restore.outcomes.iter();
            let failed = outcomes.filter(|outcome| !outcome.result.is_restored());
            let left = failed.map(|outcome| &outcome.path).chain(&report.not_moved);
            let left: Vec<PathBuf> = left.map(|path| root.join(path.as_path())).collect();
            let is_over = left.iter().all(|path| conflicts.contains(path));
            let accepted = AcceptedTrial { files: files.saturating_sub(left.len()), left };
            Ok(Ok((accepted, is_over)))
        })??;
        self.register_journal(shared)?;
        // If something failed, on a full disk for example, the trial is kept so that it can be
        // accepted again.
        if is_over {
            super::remove_tree(&self.folder);
        }
        Ok(accepted)
    }

    /// Work in a copy is not part of a session's snapshots, so the acceptance is recorded as a
    /// span.
    fn begin_span(
        &self,
        shared: &SharedWorkspace,
        from: SnapshotId,
    ) -> Result<Option<AcceptSpan>, TrialError> {
        let Some(journal) = self.find_own_journal() else { return Ok(None) };
        let kept = SnapshotStore::open(
            &SnapshotStore::folder_for(journal),
            Durability::Synced,
            SnapshotLimits::default(),
        );
        let begun = kept.and_then(|kept| {
            let record = self.record.last_record;
            let root = shared.root().to_owned();
            let at = crate::clock::unix_millis();
            let number = kept.begin_span(record, root, from.to_string(), None, at)?;
            Ok(AcceptSpan { kept, number })
        });
        begun.map(Some).map_err(|error| TrialError::Snapshots(error.to_string()))
    }

    /// The session that began the span needs its snapshots.
    fn register_journal(&self, shared: &SharedWorkspace) -> Result<(), TrialError> {
        let Some(journal) = self.find_own_journal() else { return Ok(()) };
        let registered = shared.register(&SnapshotStore::folder_for(journal));
        registered.map(drop).map_err(|error| TrialError::Snapshots(error.to_string()))
    }

    fn find_own_journal(&self) -> Option<&Path> {
        self.record.journal.as_deref().filter(|_| self.record.is_copy)
    }

    fn overlay(&self) -> Result<OverlayTrial, TrialError> {
        Ok(OverlayTrial {
            before: self.record.before,
            after: self.record.after.ok_or(TrialError::NotEnded)?,
            files: match self.record.is_copy {
                true => TrialFiles::Copy(self.folder.join(super::COPY_NAME)),
                false => TrialFiles::Overlay(self.folder.join("upper")),
            },
            began: self.record.began,
        })
    }
}

/// The span of an acceptance that is under way.
struct AcceptSpan {
    kept: SnapshotStore,
    number: usize,
}

impl AcceptSpan {
    fn end(&self, to: SnapshotId) -> Result<(), TrialError> {
        let at = crate::clock::unix_millis();
        let ended = self.kept.end_span(self.number, Vec::new(), to.to_string(), at);
        ended.map_err(|error| TrialError::Snapshots(error.to_string()))
    }
}

fn run<T>(
    shared: &SharedWorkspace,
    work: impl FnOnce(&mut Workspace) -> Result<T, WorkspaceError>,
) -> Result<T, TrialError> {
    let done = shared.run(work).map_err(|error| TrialError::Snapshots(error.to_string()))?;
    let missing = || TrialError::Snapshots("no snapshots are kept of this directory".to_owned());
    done.ok_or_else(missing)
}

fn plan_trial(
    workspace: &mut Workspace,
    trial: &OverlayTrial,
) -> Result<OverlayPlan, WorkspaceError> {
    if workspace.has_unfinished_restore() {
        // A process was killed during an earlier restore: complete that first.
        workspace.finish()?;
    }
    workspace.plan_trial(trial, &CancelFlag::new())
}

fn describe_plan(workspace: &Workspace, plan: &OverlayPlan) -> TrialPreview {
    let mut preview = TrialPreview::default();
    for step in &plan.restore.steps {
        preview.changes_git |= step.path.is_git_state();
        if let Some(kind) = classify_change(&step.path, &step.current, &step.target) {
            preview.files.push(FileDifference {
                path: step.path.to_string(),
                kind,
                before: read_content(workspace, &step.current),
                after: read_content(workspace, &step.target),
            });
        }
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for moved in &plan.moves {
        if moved.path.is_git_state() {
            preview.changes_git = true;
        } else if moved.kind != OverlayMoveKind::MakeFolder || moved.path.parts().count() == 1 {
            let top = moved.path.parts().next().unwrap_or_default();
            *counts.entry(String::from_utf8_lossy(top).into_owned()).or_default() += 1;
        }
    }
    let root = workspace.root();
    preview.conflicts =
        plan.conflicts().into_iter().map(|path| root.join(path.as_path())).collect();
    preview.outside =
        counts.into_iter().map(|(path, count)| OutsideChange { path, count }).collect();
    preview
}
