//! Taking back what a session did to files, back to a message of it.
//!
//! Two things are known: what a file held before a tool of ours changed it, wherever it is, and
//! snapshots of the working directory around every batch of calls, commands included. Where both speak
//! of a file, the snapshots count. Going back is looked at first and then done; a file that was changed
//! by others since is left alone unless that is asked for.

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

/// What is not covered, for people.
pub const REWIND_NOT_COVERED: &str = "Ignored folders, files over 16 MiB and what commands did outside the working directory are not taken back.";

/// What going back does to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRewind {
    /// The file.
    pub path: PathBuf,
    /// How it stands now.
    pub file_state: RestoreStatus,
    /// It was made by us, and goes.
    pub is_removed: bool,
    /// Lines that come back.
    pub insertions: usize,
    /// Lines that go.
    pub deletions: usize,
}

/// What may be done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RewindOptions {
    /// Only look.
    pub dry_run: bool,
    /// What becomes of files that others changed since.
    pub overwrite: OverwriteChoice,
}

/// What becomes of files that others changed since. Whatever is overwritten is kept first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OverwriteChoice {
    /// If there is one, nothing at all is done.
    #[default]
    Refuse,
    /// They stay, and the rest goes back.
    Skip,
    /// These are overwritten, others stay, and the rest goes back.
    Files(Vec<PathBuf>),
    /// They are overwritten.
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

/// What goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RewindScope {
    /// What was said.
    pub conversation: bool,
    /// What our tools did to files.
    pub files: bool,
}

/// What came of going back, or would come of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewindResult {
    /// The prompt before which the session is now.
    pub prompt: String,
    /// The files that went back.
    pub files: Vec<FileRewind>,
}

/// A session cannot go back.
#[derive(Debug, thiserror::Error)]
pub enum RewindError {
    /// There is no such message or call.
    #[error("there is no message or call {0} in this session")]
    NoMessage(String),
    /// Nothing of the session is kept.
    #[error("this session is not saved")]
    NotKept,
    /// Nothing was rewound, or something was done since.
    #[error("there is no rewind to undo: none was done, or files were changed after it")]
    NoRewind,
    /// What was going on does not end.
    #[error("the current run does not end; try again")]
    StillRunning,
    /// The session is over.
    #[error("the session is over")]
    Closed,
    /// Other programs changed files since.
    #[error("changed by others since and left alone: {}", join_paths(.0))]
    ChangedByOthers(Vec<PathBuf>),
    /// The disk, or what is kept on it.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The snapshots of the working directory.
    #[error("{0}")]
    Snapshots(String),
}

pub(crate) fn join_paths(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(", ")
}

/// Takes files back to where they were behind this record, or says what that would change. `end` is
/// the last record of the session. All of it or nothing is begun; what the disk then refuses may
/// leave some files back and others not, and doing it again finishes it.
///
/// # Errors
///
/// When others changed files since and may not be overwritten, or the disk says no.
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

/// Which calls since this moment cannot be taken back, because snapshots around them were given up, for room
/// or for their age? Blocks.
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

/// Takes back the last rewind of files, or says what that would change.
///
/// # Errors
///
/// When the last thing done to files was no rewind, others changed files since and may not be
/// overwritten, or the disk says no.
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

/// The spans of the last rewind, if nothing was done since: one for each directory.
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

/// What was planned and could not be done is told as what it is.
fn mark_failed(files: &mut [FileRewind], failed: &[PathBuf]) {
    for file in files.iter_mut().filter(|file| failed.contains(&file.path)) {
        file.file_state = RestoreStatus::NotStored;
    }
}

/// For each directory that snapshots say something about.
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

/// May files that others changed be dealt with as chosen? Those that stay are left out of the list.
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

/// Keeps what files held, for one session and the sessions nested in it.
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

    /// The snapshots of the working directory.
    pub(crate) fn shared_workspace(&self) -> Result<&SharedWorkspace, String> {
        self.workspace.as_ref().ok_or_else(|| "no snapshots of files are taken here".to_owned())
    }

    /// Did this or another session take snapshots of the working directory?
    pub(crate) fn has_taken_snapshots(&self) -> bool {
        self.workspace.as_ref().is_some_and(SharedWorkspace::has_store)
    }

    /// Says that this session needs the snapshots of the working directory. Blocks.
    /// Returns whether another session works there too.
    pub(crate) fn register_snapshots(&self) -> Result<bool, WorkspaceError> {
        let change_log = SnapshotStore::folder_for(&self.journal);
        let mut is_shared = false;
        for member in self.workspace.iter().flat_map(SharedWorkspace::members) {
            is_shared |= member.register(&change_log)?;
        }
        Ok(is_shared)
    }

    /// Calls are about to change this directory, which stood as this snapshot says at this time.
    pub(crate) fn begin_span(
        &self,
        root: &Path,
        from: SnapshotId,
        at: u64,
    ) -> Result<usize, JournalError> {
        let record = self.last_seq.load(Ordering::Relaxed);
        self.store.begin_span(record, root.to_owned(), from.to_string(), false, at)
    }

    /// Takes files back to where they were before this message or call, or looks. Blocks.
    pub(crate) fn rewind(
        &self,
        name: &str,
        options: &RewindOptions,
    ) -> Result<Vec<FileRewind>, RewindError> {
        self.rewind_files(&self.find_point(name)?, options)
    }

    /// Where a message or a call is. Blocks.
    pub(crate) fn find_point(&self, name: &str) -> Result<RewindPoint, RewindError> {
        let messages = trace_messages(&self.journal, &self.session, &self.settings)?;
        RewindPoint::find(&messages, &self.store, name)
            .ok_or_else(|| RewindError::NoMessage(name.to_owned()))
    }

    /// Takes files back to where they were at a point, or looks. Blocks.
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
            // It could not be found again; the change itself is no worse for that.
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
            // What is over a limit cannot be taken back, and nothing else follows from it.
            Ok(_) | Err(JournalError::TooLarge { .. }) => Ok(()),
            Err(error) => Err(format!(
                "What `{}` held could not be kept, so it was not changed: {error}.",
                Path::display(path)
            )),
        }
    }
}

/// Runs work that blocks on the disk on a thread for blocking work.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RewindError> + Send + 'static,
) -> Result<T, RewindError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => Err(RewindError::Closed),
    })
}
