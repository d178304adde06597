//! Rewinds files and the conversation of a session to one of its messages or calls. What is done to
//! files is planned and carried out by `windlass_snapshot::rewind`.

mod rewind_point;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_engine::Settings;
use windlass_journal::snapshot_store::UpcomingFileChange;
use windlass_journal::transcript::trace_messages;
use windlass_journal::{JournalError, SnapshotLimits, SnapshotStore};
use windlass_tool::{FileBackupStore, PendingFileChange};
use windlass_workspace::{SnapshotId, WorkspaceError};

use crate::journal_location::JournalLocation;
use crate::snapshot::SharedWorkspace;

pub use rewind_point::RewindPoint;
pub use windlass_journal::snapshot_store::RestoreStatus;
pub(crate) use windlass_snapshot::rewind::join_paths;
pub use windlass_snapshot::rewind::{
    FileRewind, OverwriteChoice, REWIND_NOT_COVERED, RewindError, RewindOptions,
    list_given_up_calls, rewind, undo_rewind, visit_rewind_changes, visit_undo_changes,
};

/// Which halves of a session go back.
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
    /// The files that were restored, and those that were not or were left alone.
    pub files: Vec<FileRewind>,
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
        self.store.begin_span(record, root.to_owned(), from.to_string(), None, at)
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
