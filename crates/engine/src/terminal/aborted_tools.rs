//! Interrupted while tools ran.
//!
//! Owes the transcript  results for every open call, and a note unless a new message says it.
//! Tells the user       that it was interrupted.

use super::Owed;
use crate::step::Loop;

pub(super) fn aborted_tools(turn: &mut Loop<'_>) -> Owed {
    turn.close_open_calls();
    turn.commit_results();
    turn.note_interruption();
    Owed::plain("interrupted while tools ran")
}
