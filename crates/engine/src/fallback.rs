//! Asking another model, and asking the same one for less.
//!
//! On a switch what was shown is already retracted; reasoning signed by the old model is left out
//! by the dialect, which knows whose it is.

use alloc::format;
use windlass_vocabulary::{FailureKind, Notice};

use crate::context::quarantine::{Refused, leave_out};
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

    /// Quarantines what the provider objected to, as far as the kind of failure tells.
    pub(crate) fn repaired(&mut self) {
        let state = &mut self.state;
        let failure = state.withheld.as_ref();
        let kind = failure.map_or(FailureKind::InvalidRequest, |failure| failure.kind);
        let words = failure.map_or("", |failure| failure.message.as_str());
        let (refused, name) = match kind {
            FailureKind::BadImage => (Refused::Media, "images and documents"),
            FailureKind::ForeignSignature => (Refused::Reasoning, "blocks of earlier reasoning"),
            _ => (Refused::Foreign, "blocks of reasoning or of another provider"),
        };
        state.without_reasoning |= refused == Refused::Reasoning;
        let count = leave_out(&mut state.context, &state.transcript, refused);
        let why = format!("the provider refused the request ({words}); {count} {name} left out");
        self.tell(Notice::Repaired { why });
    }
}
