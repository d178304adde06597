//! Go round again because a stop hook objected.
//!
//! Fires when  a stop hook objected, fewer times than the limits allow.
//! Consumes    one objection.
//! Resets      `output_recoveries`.
//! Keeps       `reactive_compact_tried`: an objection is not progress.

use windlass_vocabulary::Transition;

use crate::control::{Attempt, Control, Phase, StopHook};

pub(crate) fn stop_hook_blocking(before: Control, is_same: bool) -> Control {
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
        transition: Some(Transition::StopHookBlocking),
        attempt: Attempt::FRESH,
        calls_open: false,
        turn,
        output_recoveries: 0,
        reactive_compact_tried,
        output_cap,
        auto_compact,
        stop_hook: StopHook {
            is_retry: true,
            blocks: stop_hook.blocks.saturating_add(1),
            same: if is_same { stop_hook.same.saturating_add(1) } else { 1 },
        },
        nudges,
        model,
        withheld,
    }
}
