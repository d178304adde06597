//! Go round again because staged collapses could make room.
//!
//! Fires when  the prompt is too long, collapses are staged, nothing was tried since the last good turn.
//! Consumes    the first rung of the ladder against overflow.
//! Resets      nothing.
//! Keeps       everything else; the failure stays withheld.

use windlass_vocabulary::Transition;

use crate::control::{Attempt, Control, Overflow, Phase};

pub(crate) fn collapse_drain_retry(before: Control) -> Control {
    let Control {
        phase: _,
        turn,
        transition: _,
        output_recoveries,
        reactive_compact_tried: _,
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
        transition: Some(Transition::CollapseDrainRetry),
        attempt: Attempt::FRESH,
        calls_open: false,
        turn,
        output_recoveries,
        reactive_compact_tried: Overflow::Drained,
        output_cap,
        auto_compact,
        stop_hook,
        nudges,
        model,
        withheld,
    }
}
