//! Undoes what a session did to files, back to one of its records.
//!
//! There are two sources: the previous content of each file that one of our tools changed, wherever
//! it is, and snapshots of the working directory around every batch of calls, commands included.
//! Where both cover a file, the snapshots take precedence. A rewind is planned first and then
//! executed; a file that other programs changed since is left alone unless the caller says
//! otherwise.

mod snapshot_rewind;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use windlass_journal::snapshot_store::{
    FileImage, LastRewind, PlannedRestore, RestoreStatus, RestoredFile, SnapshotSpan,
};
use windlass_journal::{JournalError, SnapshotStore};
use windlass_tool::count_changed_lines;
use windlass_vocabulary::notice::ChangeKind;
use windlass_workspace::{RelativePath, SnapshotId};

use crate::{FileDifference, HeldContent, SharedWorkspace};
use snapshot_rewind::SnapshotPlan;

/// Shown to users: what a rewind does not cover.
pub const REWIND_NOT_COVERED: &str = "Ignored folders, files over 16 MiB and what commands did outside the working directory are not taken back.";

/// What a rewind does to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRewind {
    /// The file.
    pub path: PathBuf,
    /// Its current state.
    pub file_state: RestoreStatus,
    /// The session created it, so the rewind removes it.
    pub is_removed: bool,
    /// Lines the rewind adds.
    pub insertions: usize,
    /// Lines the rewind removes.
    pub deletions: usize,
}

/// How a rewind is carried out; the default changes files, and refuses where others changed them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RewindOptions {
    /// Only return what would change.
    pub dry_run: bool,
    /// How to treat files that other programs changed since.
    pub overwrite: OverwriteChoice,
}

/// How to treat files that other programs changed since. The overwritten content is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OverwriteChoice {
    /// If there is one, change nothing at all.
    #[default]
    Refuse,
    /// Leave them alone, and restore the others.
    Skip,
    /// Overwrite these, leave other changed ones alone, and restore the rest.
    Files(Vec<PathBuf>),
    /// Overwrite all of them.
    All,
}

impl OverwriteChoice {
    /// Whether this file is overwritten although others changed it.
    #[must_use]
    pub fn covers(&self, path: &Path) -> bool {
        match self {
            Self::Refuse | Self::Skip => false,
            Self::Files(paths) => paths.iter().any(|own| own == path),
            Self::All => true,
        }
    }
}

/// Why a session cannot be rewound.
#[derive(Debug, thiserror::Error)]
pub enum RewindError {
    /// There is no such message or call.
    #[error("there is no message or call {0} in this session")]
    NoMessage(String),
    /// No file history is kept for the session.
    #[error("this session is not saved")]
    NotKept,
    /// There was no rewind, or something was done since.
    #[error("there is no rewind to undo: none was done, or files were changed after it")]
    NoRewind,
    /// The current run does not end.
    #[error("the current run did not stop in time; try again")]
    StillRunning,
    /// The session is over.
    #[error("the session is over")]
    Closed,
    /// Other programs have changed files since.
    #[error(
        "changed by others since, or by a call that was cut off, and left alone: {}",
        join_paths(.0)
    )]
    ChangedByOthers(Vec<PathBuf>),
    /// The journal or the disk failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The snapshots of the working directory cannot be used.
    #[error("{0}")]
    Snapshots(String),
}

/// Paths for a message.
#[must_use]
pub fn join_paths(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(", ")
}

/// Restores files to their state after this record, or returns what that would change. `end` is the
/// last record of the session. Conflicts are checked before anything is changed; if the disk fails
/// later, some files may be restored and others not, and repeating the rewind completes it.
///
/// # Errors
///
/// Other programs changed files since and may not be overwritten, or the disk fails.
pub fn rewind(
    kept: &SnapshotStore,
    workspace: Option<&SharedWorkspace>,
    to_record: u64,
    end: u64,
    options: &RewindOptions,
) -> Result<Vec<FileRewind>, RewindError> {
    if !options.dry_run {
        finish_earlier(workspace, &kept.find_spans_after(to_record))?;
    }
    carry_out(kept, &plan_rewind(kept, workspace, to_record)?, end, options)
}

/// Returns the files of a plan, after they were restored unless only a preview is wanted.
fn carry_out(
    kept: &SnapshotStore,
    plan: &RewindPlan<'_>,
    end: u64,
    options: &RewindOptions,
) -> Result<Vec<FileRewind>, RewindError> {
    let RewindPlan { by_history, by_snapshots } = plan;
    let mut files: Vec<FileRewind> =
        by_history.iter().map(|planned| describe_file_rewind(kept, planned)).collect();
    files.extend(by_snapshots.iter().flat_map(|(_, planned)| planned.files.iter().cloned()));
    if options.dry_run {
        return Ok(files);
    }
    check_others(&files, &options.overwrite)?;
    if !plan.changes_anything(&options.overwrite) {
        // Recorded, it would be what an undo takes back, in place of the rewind before it.
        return Ok(files);
    }
    let done = kept.restore(by_history, end, |planned| options.overwrite.covers(&planned.path))?;
    let skipped = done.into_iter().filter_map(|restored| match restored {
        RestoredFile::Skipped(path, _) => Some(path),
        RestoredFile::Written(_) | RestoredFile::Removed(_) => None,
    });
    mark_failed(&mut files, &skipped.collect::<Vec<PathBuf>>(), &options.overwrite);
    for (workspace, planned) in by_snapshots {
        let failed =
            snapshot_rewind::carry_out(workspace, kept, &planned.plan, end, &options.overwrite)?;
        mark_failed(&mut files, &failed, &options.overwrite);
    }
    Ok(files)
}

/// What a rewind restores from the one source and from the other.
struct RewindPlan<'a> {
    by_history: Vec<PlannedRestore>,
    by_snapshots: Vec<(&'a SharedWorkspace, SnapshotPlan)>,
}

impl RewindPlan<'_> {
    fn changes_anything(&self, overwrite: &OverwriteChoice) -> bool {
        let is_changed = |status: &RestoreStatus, path: &Path| match status {
            RestoreStatus::Restorable => true,
            RestoreStatus::ChangedByOthers => overwrite.covers(path),
            RestoreStatus::AlreadyRestored | RestoreStatus::NotStored => false,
        };
        self.by_history.iter().any(|planned| is_changed(&planned.status, &planned.path))
            || self.by_snapshots.iter().any(|(member, planned)| {
                snapshot_rewind::changes_anything(member, &planned.plan, overwrite)
            })
    }
}

fn plan_rewind<'a>(
    kept: &SnapshotStore,
    workspace: Option<&'a SharedWorkspace>,
    to_record: u64,
) -> Result<RewindPlan<'a>, RewindError> {
    let spans = kept.find_spans_after(to_record);
    let by_snapshots = plan_by_snapshots(workspace, &spans, kept)?;
    let covered: BTreeSet<PathBuf> =
        by_snapshots.iter().flat_map(|(_, planned)| snapshot_rewind::list_paths(planned)).collect();
    let mut by_history = kept.plan_restore(to_record);
    by_history.retain(|planned| {
        planned.status != RestoreStatus::AlreadyRestored && !covered.contains(&planned.path)
    });
    Ok(RewindPlan { by_history, by_snapshots })
}

/// Calls `visit` with what a rewind to this record would change: each file as it is now, and as it
/// was then. Blocks.
///
/// # Errors
///
/// The snapshots cannot be read.
pub fn visit_rewind_changes(
    kept: &SnapshotStore,
    workspace: Option<&SharedWorkspace>,
    to_record: u64,
    visit: impl FnMut(FileDifference),
) -> Result<(), RewindError> {
    visit_plan(kept, workspace, &plan_rewind(kept, workspace, to_record)?, visit)
}

/// The same for undoing the last rewind; nothing if there was none.
///
/// # Errors
///
/// The snapshots cannot be read.
pub fn visit_undo_changes(
    kept: &SnapshotStore,
    workspace: Option<&SharedWorkspace>,
    visit: impl FnMut(FileDifference),
) -> Result<(), RewindError> {
    let plan = plan_undo(kept, workspace, kept.find_last_rewind())?;
    visit_plan(kept, workspace, &plan, visit)
}

fn visit_plan(
    kept: &SnapshotStore,
    workspace: Option<&SharedWorkspace>,
    plan: &RewindPlan<'_>,
    mut visit: impl FnMut(FileDifference),
) -> Result<(), RewindError> {
    plan.by_history.iter().for_each(|planned| visit(compare_contents(kept, planned)));
    let Some(all) = workspace else { return Ok(()) };
    plan.by_snapshots.iter().try_for_each(|(member, planned)| {
        let name_file = |path: &RelativePath| all.name_file(member, path);
        snapshot_rewind::visit_steps(member, &planned.plan, name_file, &mut visit)
    })
}

fn compare_contents(kept: &SnapshotStore, planned: &PlannedRestore) -> FileDifference {
    let (now, then) = kept.read_contents(planned);
    let mode = planned.mode.unwrap_or_default();
    let hold = |image: &FileImage, bytes: Vec<u8>| match image {
        FileImage::Absent => HeldContent::Nothing,
        FileImage::Content(_) => HeldContent::File(bytes, mode),
        FileImage::NotKept => HeldContent::NotKept,
    };
    FileDifference {
        path: planned.path.display().to_string(),
        kind: match () {
            () if planned.current == FileImage::Absent => ChangeKind::Created,
            () if planned.target == FileImage::Absent => ChangeKind::Deleted,
            () => ChangeKind::Modified,
        },
        before: hold(&planned.current, now),
        after: hold(&planned.target, then),
    }
}

/// The calls since this record that cannot be undone, because their snapshots were deleted for
/// space or age. Blocks.
#[must_use]
pub fn list_given_up_calls(
    kept: &SnapshotStore,
    workspace: &SharedWorkspace,
    to_record: u64,
) -> Vec<String> {
    let spans = kept.find_spans_after(to_record);
    let mut calls = Vec::new();
    for member in workspace.members() {
        let own = spans.iter().filter(|span| span.root == member.root());
        let lost = member.run(|workspace| {
            let is_lost =
                |id: &String| id.parse::<SnapshotId>().is_ok_and(|id| !workspace.has_snapshot(id));
            Ok(own.filter(|span| is_lost(&span.from) || span.to.as_ref().is_some_and(is_lost)))
                .map(|lost| lost.cloned().collect::<Vec<SnapshotSpan>>())
        });
        for span in lost.ok().flatten().unwrap_or_default() {
            match span.calls.is_empty() {
                true => calls.push("work in the background".to_owned()),
                false => calls.extend(span.calls),
            }
        }
    }
    calls.dedup();
    calls
}

/// Undoes the last rewind of files, or returns what that would change.
///
/// # Errors
///
/// The last change to files was not a rewind, other programs changed files since and may not be
/// overwritten, or the disk fails.
pub fn undo_rewind(
    kept: &SnapshotStore,
    workspace: Option<&SharedWorkspace>,
    end: u64,
    options: &RewindOptions,
) -> Result<Vec<FileRewind>, RewindError> {
    let last = kept.find_last_rewind();
    if last == LastRewind::default() {
        return Err(RewindError::NoRewind);
    }
    if !options.dry_run {
        finish_earlier(workspace, &last.spans)?;
    }
    let is_kept = !last.files.is_empty();
    let plan = plan_undo(kept, workspace, last)?;
    match plan.by_snapshots.is_empty() && !is_kept {
        true => Err(RewindError::NotKept),
        false => carry_out(kept, &plan, end, options),
    }
}

fn plan_undo<'a>(
    kept: &SnapshotStore,
    workspace: Option<&'a SharedWorkspace>,
    last: LastRewind,
) -> Result<RewindPlan<'a>, RewindError> {
    let by_snapshots = plan_by_snapshots(workspace, &last.spans, kept)?;
    let mut by_history = last.files;
    by_history.retain(|planned| planned.status != RestoreStatus::AlreadyRestored);
    Ok(RewindPlan { by_history, by_snapshots })
}

/// Marks files whose planned restore failed.
/// A file that was left alone on purpose has not failed.
fn mark_failed(files: &mut [FileRewind], failed: &[PathBuf], overwrite: &OverwriteChoice) {
    let is_failed =
        |file: &&mut FileRewind| failed.contains(&file.path) && !is_left_alone(file, overwrite);
    for file in files.iter_mut().filter(is_failed) {
        file.file_state = RestoreStatus::NotStored;
    }
}

/// A preview changes nothing, so this is not part of a plan.
fn finish_earlier(
    workspace: Option<&SharedWorkspace>,
    spans: &[SnapshotSpan],
) -> Result<(), RewindError> {
    let mut members = workspace.into_iter().flat_map(SharedWorkspace::members);
    let has_spans = |member: &&SharedWorkspace| spans.iter().any(|span| span.root == member.root());
    members.by_ref().filter(has_spans).try_for_each(snapshot_rewind::finish_earlier)
}

/// Makes a plan for each directory with snapshots.
fn plan_by_snapshots<'a>(
    workspace: Option<&'a SharedWorkspace>,
    spans: &[SnapshotSpan],
    kept: &SnapshotStore,
) -> Result<Vec<(&'a SharedWorkspace, SnapshotPlan)>, RewindError> {
    let mut planned = Vec::new();
    for member in workspace.into_iter().flat_map(SharedWorkspace::members) {
        let plan = snapshot_rewind::plan_before(member, spans, kept)?;
        planned.extend(plan.map(|plan| (member, plan)));
    }
    Ok(planned)
}

/// Checks files changed by others against the caller's choice.
fn check_others(files: &[FileRewind], overwrite: &OverwriteChoice) -> Result<(), RewindError> {
    let left = files.iter().filter(|file| is_left_alone(file, overwrite));
    let foreign: Vec<PathBuf> = left.map(|file| file.path.clone()).collect();
    match *overwrite == OverwriteChoice::Refuse && !foreign.is_empty() {
        true => Err(RewindError::ChangedByOthers(foreign)),
        false => Ok(()),
    }
}

fn is_left_alone(file: &FileRewind, overwrite: &OverwriteChoice) -> bool {
    file.file_state == RestoreStatus::ChangedByOthers && !overwrite.covers(&file.path)
}

fn describe_file_rewind(kept: &SnapshotStore, planned: &PlannedRestore) -> FileRewind {
    let (now, then) = kept.read_contents(planned);
    let [now, then] = [&now, &then].map(|bytes| String::from_utf8_lossy(bytes));
    let (deletions, insertions) = count_changed_lines(&now, &then);
    let is_removed = planned.target == FileImage::Absent;
    let path = planned.path.clone();
    let standing = planned.status;
    FileRewind { path, file_state: standing, is_removed, insertions, deletions }
}
