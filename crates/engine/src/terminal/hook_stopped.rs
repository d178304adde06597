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
    // Whose hook ends a run wanted that; whoever goes in circles did not get there.
    let outcome = (name == GUARD).then_some(Outcome::Circled);
    Owed { outcome, why: format!("{name} ended the run: {words}"), failure: None }
}
