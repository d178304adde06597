//! Recoverable failures are held back: told at most once, at the end, when every recovery is spent.
//!
//! A failed call is held back where it is taken in, in `phase/streaming.rs`. Here are the two
//! failures that arrive as answers.

use windlass_vocabulary::{FailureKind, ModelFailure};

use crate::step::Loop;

impl Loop<'_> {
    pub(crate) fn withhold_window_full(&mut self) {
        let words = "the model stopped because its window is full";
        self.state.recovery.withheld = Some(ModelFailure::new(FailureKind::PromptTooLong, words));
    }

    pub(crate) fn withhold_output_limit(&mut self) {
        // Not a failed call, but told like one if nothing helps; no kind fits better.
        let words = "the answer was cut at the output limit";
        self.state.recovery.withheld = Some(ModelFailure::new(FailureKind::OutputLimit, words));
    }

    /// The failure that was held back, now that nothing more can be done about it. The end of the run
    /// forgets it (`terminal/mod.rs`), whether or not its terminal tells it.
    pub(crate) fn withheld_failure(&self) -> Option<ModelFailure> {
        self.state.recovery.withheld.clone()
    }
}
