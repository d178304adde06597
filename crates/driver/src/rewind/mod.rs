//! Undoes what a session did to files, back to one of its messages.
//!
//! There are two sources: the previous content of each file that one of our tools changed, wherever
//! it is, and snapshots of the working directory around every batch of calls, commands included.
//! Where both cover a file, the snapshots take precedence. A rewind is planned first and then
//! executed; a file that other programs changed since is left alone unless the caller says
//! otherwise.

mod rewind_point;
mod snapshot_rewind;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_engine::Settings;
use windlass_journal::snapshot_store::{FileImage, PlannedRestore, UpcomingFileChange};
use windlass_journal::transcript::trace_messages;
use windlass_journal::{JournalError, SnapshotLimits, SnapshotStore};
use windlass_tool::{FileBackupStore, PendingFileChange, count_changed_lines};

pub use rewind_point::RewindPoint;
use snapshot_rewind::SnapshotPlan;
pub use windlass_journal::snapshot_store::RestoreStatus;
use windlass_journal::snapshot_store::SnapshotSpan;

use windlass_workspace::{SnapshotId, WorkspaceError};

use crate::journal_location::JournalLocation;
use crate::snapshot::SharedWorkspace;

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

/// How a rewind treats files.
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
    fn covers(&self, path: &Path) -> bool {
        match self {
            Self::Refuse | Self::Skip => false,
            Self::Files(paths) => paths.iter().any(|own| own == path),
            Self::All => true,
        }
    }
}

/// What a rewind takes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RewindScope {
    /// The messages.
    pub conversation: bool,
    /// The files that tools changed.
    pub files: bool,
}

/// The result of a rewind, or what it would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewindResult {
    /// The prompt to which the session was rewound.
    pub prompt: String,
    /// The files that were restored.
    pub files: Vec<FileRewind>,
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
    #[error("the current run does not end; try again")]
    StillRunning,
    /// The session is over.
    #[error("the session is over")]
    Closed,
    /// Other programs have changed files since.
    #[error("changed by others since and left alone: {}", join_paths(.0))]
    ChangedByOthers(Vec<PathBuf>),
    /// The journal or the disk failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The snapshots of the working directory cannot be used.
    #[error("{0}")]
    Snapshots(String),
}

pub(crate) fn join_paths(paths: &[PathBuf]) -> String {
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
    let spans = kept.find_spans_after(to_record);
    let by_snapshots = plan_by_snapshots(workspace, &spans)?;
    let covered: Vec<PathBuf> =
        by_snapshots.iter().flat_map(|(_, planned)| snapshot_rewind::list_paths(planned)).collect();
    let mut plan = kept.plan_restore(to_record);
    plan.retain(|planned| {
        planned.status != RestoreStatus::AlreadyRestored && !covered.contains(&planned.path)
    });
    let mut files: Vec<FileRewind> =
        plan.iter().map(|planned| describe_file_rewind(kept, planned)).collect();
    files.extend(by_snapshots.iter().flat_map(|(_, planned)| planned.files.iter().cloned()));
    if options.dry_run {
        return Ok(files);
    }
    check_others(&mut files, &options.overwrite)?;
    kept.restore(&plan, end, |planned| options.overwrite.covers(&planned.path))?;
    for (workspace, planned) in &by_snapshots {
        let failed =
            snapshot_rewind::carry_out(workspace, kept, &planned.plan, end, &options.overwrite)?;
        mark_failed(&mut files, &failed);
    }
    Ok(files)
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
    let last = find_last_rewind(kept);
    if last.is_empty() {
        return Err(RewindError::NoRewind);
    }
    let planned = plan_by_snapshots(workspace, &last)?;
    if planned.is_empty() {
        return Err(RewindError::NotKept);
    }
    let mut files: Vec<FileRewind> =
        planned.iter().flat_map(|(_, planned)| planned.files.iter().cloned()).collect();
    if options.dry_run {
        return Ok(files);
    }
    check_others(&mut files, &options.overwrite)?;
    for (workspace, planned) in &planned {
        let failed =
            snapshot_rewind::carry_out(workspace, kept, &planned.plan, end, &options.overwrite)?;
        mark_failed(&mut files, &failed);
    }
    Ok(files)
}

/// The spans of the last rewind, one per directory, if nothing was done since.
fn find_last_rewind(kept: &SnapshotStore) -> Vec<SnapshotSpan> {
    let mut group: Vec<SnapshotSpan> = Vec::new();
    for span in kept.spans().into_iter().rev().take_while(|span| span.is_rewind) {
        if group.iter().any(|known| known.root == span.root) {
            break;
        }
        group.push(span);
    }
    group
}

/// Marks files whose planned restore failed.
fn mark_failed(files: &mut [FileRewind], failed: &[PathBuf]) {
    for file in files.iter_mut().filter(|file| failed.contains(&file.path)) {
        file.file_state = RestoreStatus::NotStored;
    }
}

/// Makes a plan for each directory with snapshots.
fn plan_by_snapshots<'a>(
    workspace: Option<&'a SharedWorkspace>,
    spans: &[SnapshotSpan],
) -> Result<Vec<(&'a SharedWorkspace, SnapshotPlan)>, RewindError> {
    let mut planned = Vec::new();
    for member in workspace.into_iter().flat_map(SharedWorkspace::members) {
        planned.extend(snapshot_rewind::plan_before(member, spans)?.map(|plan| (member, plan)));
    }
    Ok(planned)
}

/// Checks files changed by others against the caller's choice. Those that are left alone are
/// removed from the list.
fn check_others(
    files: &mut Vec<FileRewind>,
    overwrite: &OverwriteChoice,
) -> Result<(), RewindError> {
    let is_foreign = |file: &FileRewind| {
        file.file_state == RestoreStatus::ChangedByOthers && !overwrite.covers(&file.path)
    };
    let foreign: Vec<PathBuf> =
        files.iter().filter(|file| is_foreign(file)).map(|file| file.path.clone()).collect();
    if *overwrite == OverwriteChoice::Refuse && !foreign.is_empty() {
        return Err(RewindError::ChangedByOthers(foreign));
    }
    files.retain(|file| !is_foreign(file));
    Ok(())
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

/// Keeps the previous content of files, for one session and its nested sessions.
#[derive(Debug)]
pub(crate) struct FileHistory {
    store: SnapshotStore,
    workspace: Option<SharedWorkspace>,
    journal: PathBuf,
    last_seq: Arc<AtomicU64>,
    session: String,
    settings: Settings,
}

impl FileHistory {
    pub(crate) fn open(
        place: &JournalLocation,
        session: String,
        settings: Settings,
        workspace: Option<SharedWorkspace>,
    ) -> Result<Self, JournalError> {
        let folder = SnapshotStore::folder_for(&place.path);
        let kept = SnapshotStore::open(&folder, place.durability, SnapshotLimits::default())?;
        let journal = place.path.clone();
        let count = Arc::clone(&place.last_seq);
        Ok(Self { store: kept, workspace, journal, last_seq: count, session, settings })
    }

    pub(crate) fn has_snapshots(&self) -> bool {
        self.workspace.is_some()
    }

    pub(crate) fn shared_workspace(&self) -> Result<&SharedWorkspace, String> {
        self.workspace.as_ref().ok_or_else(|| "no snapshots of files are taken here".to_owned())
    }

    /// Has this or another session taken snapshots of the working directory?
    pub(crate) fn has_taken_snapshots(&self) -> bool {
        self.workspace.as_ref().is_some_and(SharedWorkspace::has_store)
    }

    /// Registers that this session needs the snapshots of the working directory. Blocks. Returns
    /// whether another session works there too.
    pub(crate) fn register_snapshots(&self) -> Result<bool, WorkspaceError> {
        let change_log = SnapshotStore::folder_for(&self.journal);
        let mut is_shared = false;
        for member in self.workspace.iter().flat_map(SharedWorkspace::members) {
            is_shared |= member.register(&change_log)?;
        }
        Ok(is_shared)
    }

    /// Starts a span of calls that may change this directory, whose state before is this snapshot.
    pub(crate) fn begin_span(
        &self,
        root: &Path,
        from: SnapshotId,
        at: u64,
    ) -> Result<usize, JournalError> {
        let record = self.last_seq.load(Ordering::Relaxed);
        self.store.begin_span(record, root.to_owned(), from.to_string(), false, at)
    }

    /// Restores files to their state before this message or call, or returns what that would
    /// change. Blocks.
    pub(crate) fn rewind(
        &self,
        name: &str,
        options: &RewindOptions,
    ) -> Result<Vec<FileRewind>, RewindError> {
        self.rewind_files(&self.find_point(name)?, options)
    }

    /// The position of a message or call. Blocks.
    pub(crate) fn find_point(&self, name: &str) -> Result<RewindPoint, RewindError> {
        let messages = trace_messages(&self.journal, &self.session, &self.settings)?;
        RewindPoint::find(&messages, &self.store, name)
            .ok_or_else(|| RewindError::NoMessage(name.to_owned()))
    }

    /// Restores files to their state at a point, or returns what that would change. Blocks.
    pub(crate) fn rewind_files(
        &self,
        point: &RewindPoint,
        options: &RewindOptions,
    ) -> Result<Vec<FileRewind>, RewindError> {
        let end = self.last_seq.load(Ordering::Relaxed);
        rewind(&self.store, self.workspace.as_ref(), point.files, end, options)
    }

    pub(crate) fn store(&self) -> &SnapshotStore {
        &self.store
    }
}

impl FileBackupStore for FileHistory {
    fn back_up(&self, change: &PendingFileChange<'_>) -> Result<(), String> {
        let PendingFileChange { path, before, after, mode } = *change;
        if path.to_str().is_none() {
            // Cannot be resolved again. The change is still recorded as it was found.
            return Ok(());
        }
        let record = self.last_seq.load(Ordering::Relaxed);
        match self.store.save_before_change(&UpcomingFileChange {
            record,
            path,
            before,
            after: Some(after),
            mode,
        }) {
            // A file over a limit cannot be undone; that has no other consequence.
            Ok(_) | Err(JournalError::TooLarge { .. }) => Ok(()),
            Err(error) => Err(format!(
                "What `{}` held could not be kept, so it was not changed: {error}.",
                Path::display(path)
            )),
        }
    }
}

/// Runs blocking disk work on a blocking thread.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RewindError> + Send + 'static,
) -> Result<T, RewindError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => Err(RewindError::Closed),
    })
}
