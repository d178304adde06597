//! A tool hook, or the guard against circles, ended the run.
//!
//! Owes the transcript  nothing: all results are in.
//! Tells the user       who, and why.

use alloc::format;

use super::Owed;
use crate::step::Loop;

pub(super) fn hook_stopped(turn: &mut Loop<'_>) -> Owed {
    let (name, words) = turn.state.objection.clone().unwrap_or_default();
    Owed { outcome: None, why: format!("{name} ended the run: {words}"), failure: None }
}
