//! A tool hook, or the guard against circles, ended the run.
//!
//! Owes the transcript  nothing: all results are in.
//! Tells the user       who, and why.

use alloc::format;

use windlass_vocabulary::Outcome;

use super::Owed;
use crate::step::Loop;
use crate::tool::circle::GUARD;

pub(super) fn hook_stopped(turn: &mut Loop<'_>) -> Owed {
    let (name, words) = turn.state.recovery.objection.clone().unwrap_or_default();
    // The user's hook ended the run on purpose; a run that goes in circles did not reach its goal.
    let outcome = (name == GUARD).then_some(Outcome::Circled);
    Owed { outcome, why: format!("{name} ended the run: {words}"), failure: None }
}
