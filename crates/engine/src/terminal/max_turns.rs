//! The turn limit is reached.
//!
//! Owes the transcript  nothing: all results are in.
//! Tells the user       the limit.

use alloc::format;

use super::Owed;
use crate::step::Loop;

pub(super) fn max_turns(turn: &mut Loop<'_>) -> Owed {
    let limit = turn.limits.turns_max;
    Owed { outcome: None, why: format!("the limit of {limit} turns is reached"), failure: None }
}
