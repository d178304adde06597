//! Go round again because history was summarised or cut after an overflow.
//!
//! Fires when  the prompt is too long or the media too large, and history was not compacted for it yet.
//! Consumes    the last rung of the ladder against overflow.
//! Resets      nothing.
//! Keeps       everything else; the failure stays withheld.

use windlass_vocabulary::Transition;

use crate::control::{Attempt, Control, Overflow, Phase};

pub(crate) fn reactive_compact_retry(before: Control) -> Control {
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
        transition: Some(Transition::ReactiveCompactRetry),
        attempt: Attempt::FRESH,
        calls_open: false,
        turn,
        output_recoveries,
        reactive_compact_tried: Overflow::Compacted,
        output_cap,
        auto_compact,
        stop_hook,
        nudges,
        model,
        withheld,
    }
}
