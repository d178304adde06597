//! The request would not fit and nothing may shrink it.
//!
//! Owes the transcript  nothing: no request was made.
//! Tells the user       which limit, and what would help.

use super::Owed;
use crate::decide::Why;
use crate::step::Loop;

pub(super) fn blocking_limit(turn: &mut Loop<'_>, why: Why) -> Owed {
    let words = match why {
        Why::Thrash => {
            "the window fills up as fast as it is emptied: something large comes back every turn"
        }
        Why::Plain | Why::Outcome(_) | Why::TooManyBlocks => {
            "the conversation does not fit the model's window, and compaction is off or used up; \
             start a new session, or choose a model with a larger window"
        }
    };
    Owed { outcome: None, why: words.into(), failure: turn.withheld_failure() }
}
