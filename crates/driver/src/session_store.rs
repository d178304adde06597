//! Sessions as files: where their journals lie, which there are, and how one becomes two.
//!
//! A session needs none of this: [`SessionBuilder::journal`](crate::SessionBuilder::journal) takes any
//! path. These are for callers that keep many.

pub use windlass_journal::session_catalogue::fork_journal;
pub use windlass_journal::{LastRun, ListedSession, SessionCatalogue, SessionSummary};
