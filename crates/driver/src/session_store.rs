//! Sessions as files: where their journals lie, which there are, and how one becomes two.
//!
//! A session needs none of this: [`SessionBuilder::journal`](crate::SessionBuilder::journal) takes any
//! path. These are for callers that keep many.

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
    FileImage, LoggedFileChange, PlannedRestore, RestoreStatus, RestoredFile, SnapshotLimits,
    SnapshotSpan, SnapshotStore, UpcomingFileChange,
};
pub use windlass_journal::transcript::TracedMessage;
pub use windlass_journal::{
    ClaimHolder, DiskRemedy, LastRun, ListedSession, SessionCatalogue, SessionSummary,
};

/// Copies a journal to a new one, up to this record or all of it, as the session with this id. The source
/// is only read, and may be written meanwhile. Returns the last record that was taken over.
///
/// # Errors
///
/// When the source cannot be read, or something is at the new path. Then nothing was written.
pub fn fork_journal(
    source: &Path,
    up_to: Option<u64>,
    new: &Path,
    session: &SessionId,
) -> Result<u64, JournalError> {
    session_catalogue::fork_journal(source, up_to, new, session, None, clock::unix_millis())
}
