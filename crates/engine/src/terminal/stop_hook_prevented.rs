//! A stop hook ended the run, or objected more often than it may.
//!
//! Owes the transcript  nothing: the answer is in.
//! Tells the user       which hook, and why; the hook that was overridden is told so.

use alloc::format;

use super::Owed;
use crate::decide::Why;
use crate::step::Loop;

pub(super) fn stop_hook_prevented(turn: &mut Loop<'_>, why: Why) -> Owed {
    let (name, words) = turn.state.recovery.objection.clone().unwrap_or_default();
    let why = match why {
        Why::TooManyBlocks => {
            turn.ask_stop_hooks(None);
            format!("stop hook {name} kept objecting and was overridden: {words}")
        }
        Why::Plain | Why::Outcome(_) | Why::Thrash => {
            format!("stop hook {name} ended the run: {words}")
        }
    };
    Owed { outcome: None, why, failure: None }
}
