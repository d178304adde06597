//! Sessions as files: where their journals lie, which there are, and how one becomes two.
//!
//! A session needs none of this: [`SessionBuilder::journal`](crate::SessionBuilder::journal) takes any
//! path. These are for callers that keep many.

pub use windlass_journal::conversation::{ConversationItem, ConversationRole};
pub use windlass_journal::disk::JournalFileChange;
pub use windlass_journal::session_catalogue::{SessionSearchHit, fork_journal};
pub use windlass_journal::snapshot_store::{
    FileImage, LoggedFileChange, PlannedRestore, RestoreStatus, RestoredFile, SnapshotLimits,
    SnapshotSpan, SnapshotStore, UpcomingFileChange,
};
pub use windlass_journal::transcript::TracedMessage;
pub use windlass_journal::{
    ClaimHolder, DiskRemedy, LastRun, ListedSession, SessionCatalogue, SessionSummary,
};
