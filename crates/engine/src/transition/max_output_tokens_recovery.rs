//! Go round again asking the model to go on where its answer was cut.
//!
//! Fires when  the answer was cut again and fewer than the limit of resumes were asked for.
//! Consumes    one resume.
//! Resets      nothing.
//! Keeps       everything else. The partial answer stays in the transcript.

use windlass_vocabulary::Transition;

use crate::control::{Attempt, Control, Phase};

pub(crate) fn max_output_tokens_recovery(before: Control) -> Control {
    let Control {
        phase: _,
        turn,
        transition: _,
        output_recoveries,
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
        transition: Some(Transition::MaxOutputTokensRecovery),
        attempt: Attempt::FRESH,
        calls_open: false,
        turn,
        output_recoveries: output_recoveries.saturating_add(1),
        reactive_compact_tried,
        output_cap,
        auto_compact,
        stop_hook,
        nudges,
        model,
        withheld,
    }
}
