//! Interrupted while the model answered, or between answers.
//!
//! Owes the transcript  what was shown, results for every open call, and a note unless a new message says it.
//! Tells the user       that it was interrupted.

use super::Owed;
use crate::step::Loop;

pub(super) fn aborted_streaming(turn: &mut Loop<'_>) -> Owed {
    turn.cancel_calls_to_models();
    turn.commit_partial();
    turn.close_open_calls();
    turn.commit_results();
    turn.note_interruption();
    Owed::plain("interrupted while the model answered")
}
