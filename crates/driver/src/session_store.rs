//! Stored sessions: the paths of their journals, lists of them, and forks.
//!
//! Optional: [`SessionBuilder::journal`](crate::SessionBuilder::journal) accepts any path. This is
//! for callers that keep many sessions.

use std::path::Path;

use windlass_journal::{JournalError, session_catalogue};
use windlass_vocabulary::SessionId;

use crate::clock;

pub use windlass_journal::conversation::{ConversationItem, ConversationRole};
pub use windlass_journal::disk::{
    DiskFile, DiskOpenMode, JournalDisk, JournalFileChange, RealDisk, RelayedDisk,
};
pub use windlass_journal::session_catalogue::SessionSearchHit;
pub use windlass_journal::snapshot_store::{
    FileImage, LastRewind, LoggedFileChange, PlannedRestore, RestoreStatus, RestoredFile,
    SnapshotLimits, SnapshotSpan, SnapshotStore, UpcomingFileChange,
};
pub use windlass_journal::transcript::TracedMessage;
pub use windlass_journal::{
    ClaimHolder, DiskRemedy, LastRun, ListedSession, SessionCatalogue, SessionSummary,
};

/// Copies a journal, up to this record or all of it, to a new one with this session id. The source
/// is only read, and may be written meanwhile. Returns the last record copied.
///
/// # Errors
///
/// The source cannot be read, or the new path exists. Then nothing was written.
pub fn fork_journal(
    source: &Path,
    up_to: Option<u64>,
    new: &Path,
    session: &SessionId,
) -> Result<u64, JournalError> {
    session_catalogue::fork_journal(source, up_to, new, session, None, clock::unix_millis())
}
