//! Go round again because token budget is left.
//!
//! Fires when  a budget is set, under 90 % of it is spent, and returns are not diminishing.
//! Consumes    one continuation.
//! Resets      `output_recoveries`: the answer before it ended well.
//! Keeps       `reactive_compact_tried` and `output_cap`: a nudge is not progress.

use windlass_vocabulary::Transition;

use crate::control::{Attempt, Control, Nudges, Phase, StopHook};

pub(crate) fn token_budget_continuation(before: Control, is_small: bool) -> Control {
    let Control {
        phase: _,
        turn,
        transition: _,
        output_recoveries: _,
        reactive_compact_tried,
        output_cap,
        auto_compact,
        stop_hook,
        nudges,
        model,
        attempt: _,
        withheld,
        calls_open: _,
    } = before;
    Control {
        phase: Phase::Preparing,
        transition: Some(Transition::TokenBudgetContinuation),
        attempt: Attempt::FRESH,
        calls_open: false,
        turn,
        output_recoveries: 0,
        reactive_compact_tried,
        output_cap,
        auto_compact,
        stop_hook: StopHook { is_retry: false, ..stop_hook },
        nudges: Nudges {
            used: nudges.used.saturating_add(1),
            small: if is_small { nudges.small.saturating_add(1).min(2) } else { 0 },
        },
        model,
        withheld,
    }
}
