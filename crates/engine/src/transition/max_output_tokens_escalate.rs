//! Go round again with the same messages and a higher output limit.
//!
//! Fires when  the answer was cut at the output limit, which was not raised yet and can be.
//! Consumes    the one raise between two good turns.
//! Resets      nothing.
//! Keeps       everything else. The cut answer is retracted, not kept.

use windlass_vocabulary::Transition;

use crate::control::{Attempt, Control, OutputCap, Phase};

pub(crate) fn max_output_tokens_escalate(before: Control) -> Control {
    let Control {
        phase: _,
        turn,
        transition: _,
        output_recoveries,
        reactive_compact_tried,
        output_cap: _,
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
        transition: Some(Transition::MaxOutputTokensEscalate),
        attempt: Attempt::FRESH,
        calls_open: false,
        turn,
        output_recoveries,
        reactive_compact_tried,
        output_cap: OutputCap::Raised,
        auto_compact,
        stop_hook,
        nudges,
        model,
        withheld,
    }
}
