//! The model finished, in one of the ways its outcome names.
//!
//! Owes the transcript  the withheld failure, if one is left.
//! Tells the user       only the outcome; the answer says the rest.

use windlass_vocabulary::Outcome;

use super::Owed;
use crate::decide::Why;
use crate::step::Loop;

pub(super) fn completed(turn: &mut Loop<'_>, why: Why) -> Owed {
    let outcome = match why {
        Why::Outcome(outcome) => outcome,
        Why::Plain | Why::Thrash | Why::TooManyBlocks => Outcome::Natural,
    };
    if outcome == Outcome::OutputLimitExhausted {
        turn.commit_answer();
    }
    let failure = turn.withheld_failure();
    let words = match outcome {
        Outcome::Natural => "the model finished",
        Outcome::Refusal => "the model refused",
        Outcome::OutputLimitExhausted => "the answer was cut at the output limit, again and again",
        Outcome::Empty => "the model gave an empty answer",
        Outcome::PausesExhausted => "the model kept pausing",
        Outcome::Compacted => "history was compacted",
        Outcome::NotCompacted => "history was not compacted",
        Outcome::ToolDeferred => "a hook deferred the call",
        Outcome::Circled => "it went in circles",
        // The driver's to say, when it comes to that.
        Outcome::StorageFailed => "the session could not be written down",
    };
    Owed { outcome: Some(outcome), why: words.into(), failure }
}
