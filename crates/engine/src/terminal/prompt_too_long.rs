//! The prompt is too long and every recovery is spent.
//!
//! Owes the transcript  the withheld failure.
//! Tells the user       that history could not be made short enough.

use super::Owed;
use crate::step::Loop;

pub(super) fn prompt_too_long(turn: &mut Loop<'_>) -> Owed {
    let why = "the prompt is too long for the model, even after history was compacted";
    Owed { outcome: None, why: why.into(), failure: turn.withheld_failure() }
}
