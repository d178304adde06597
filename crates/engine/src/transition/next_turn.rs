//! Go round again because every call of the answer has its result.
//!
//! Fires when  every call has a result, nothing asked to stop, the turn limit allows another.
//! Consumes    one turn.
//! Resets      `output_recoveries`, `reactive_compact_tried`, `output_cap`.
//! Keeps       stop-hook and token-budget counts, the place in the fallback chain.

use windlass_vocabulary::Transition;

use crate::control::{Attempt, Control, OutputCap, Overflow, Phase};
use crate::settings::Limits;

pub(crate) fn next_turn(before: Control, limits: &Limits) -> Control {
    let Control {
        phase: _,
        turn,
        transition: _,
        output_recoveries: _,
        reactive_compact_tried: _,
        output_cap: _,
        auto_compact,
        stop_hook,
        nudges,
        model,
        attempt: _,
        withheld: _,
        calls_open: _,
    } = before;
    Control {
        phase: Phase::Preparing,
        transition: Some(Transition::NextTurn),
        attempt: Attempt::FRESH,
        calls_open: false,
        turn: turn.saturating_add(1),
        output_recoveries: 0,
        reactive_compact_tried: Overflow::Untried,
        output_cap: OutputCap::Normal,
        auto_compact: auto_compact.aged(limits.refill_span()),
        stop_hook,
        nudges,
        model,
        withheld: false,
    }
}
