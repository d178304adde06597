//! Asking another model, and asking the same one for less.
//!
//! On a switch what was shown is already retracted; reasoning signed by the old model is left out
//! by the dialect, which knows whose it is.

use alloc::format;
use windlass_vocabulary::{FailureKind, Notice};

use crate::step::Loop;

impl Loop<'_> {
    pub(crate) fn switched(&mut self) {
        let place = self.state.control.model;
        let from = self.settings.model_at(place.saturating_sub(1)).name.clone();
        let to = self.settings.model_at(place).name.clone();
        let failure = self.state.withheld.take();
        let why = failure.map(|failure| failure.message).unwrap_or_default();
        self.tell(Notice::ModelSwitched { from, to, why });
    }

    /// Leaves out what the provider objected to: the offending kind of block, for this iteration.
    pub(crate) fn repaired(&mut self) {
        let failure = self.state.withheld.as_ref();
        let kind = failure.map_or(FailureKind::InvalidRequest, |failure| failure.kind);
        let words = failure.map_or("", |failure| failure.message.as_str());
        let repair = &mut self.state.repair;
        let left_out = match kind {
            FailureKind::BadImage => {
                repair.without_media = true;
                "images and documents"
            }
            FailureKind::ForeignSignature => {
                repair.without_reasoning = true;
                "earlier reasoning"
            }
            _ => {
                repair.without_reasoning = true;
                repair.without_provider_blocks = true;
                "earlier reasoning and provider-only blocks"
            }
        };
        let why = format!("the provider refused the request ({words}); {left_out} left out");
        self.tell(Notice::Repaired { why });
    }
}
