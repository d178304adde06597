//! Asking another model, and asking the same one for less.
//!
//! On a switch what was shown is already retracted; reasoning signed by the old model is left out
//! by the dialect, which knows whose it is.

use alloc::format;
use alloc::string::String;
use windlass_vocabulary::{FailureKind, Notice};

use crate::context::quarantine::{Refused, leave_out};
use crate::context::{Report, level_5_autocompact};
use crate::state::State;
use crate::step::Loop;

impl Loop<'_> {
    pub(crate) fn switched(&mut self) {
        let place = self.state.control.model;
        let from = self.settings.model_at(place.saturating_sub(1)).name.clone();
        let to = self.settings.model_at(place).name.clone();
        let failure = self.state.recovery.withheld.take();
        let why = failure.map(|failure| failure.message).unwrap_or_default();
        self.tell(Notice::ModelSwitched { from, to, why });
    }

    /// Quarantines what the provider objected to: the message it names, or else every block of the
    /// kind it could mean. If a repair did not help before, history is cut as well, so that no bad
    /// item outlives two messages of the user.
    pub(crate) fn repaired(&mut self) {
        let failure = self.state.recovery.withheld.as_ref();
        let kind = failure.map_or(FailureKind::InvalidRequest, |failure| failure.kind);
        let words = failure.map_or("", |failure| failure.message.as_str());
        let why = format!("the provider refused the request ({words})");
        let named = failure.and_then(|failure| failure.offender);
        let has_tried = self.state.recovery.refusals > 0;
        self.state.recovery.refusals = self.state.recovery.refusals.saturating_add(1);
        let refused = if has_tried {
            Refused::Rich
        } else if kind == FailureKind::BadImage {
            Refused::Media
        } else if kind == FailureKind::ForeignSignature {
            Refused::Reasoning
        } else if named.is_some() {
            Refused::Rich
        } else {
            Refused::Foreign
        };
        let only = if has_tried { None } else { named };
        let state = &mut self.state;
        let is_plainer = self
            .settings
            .context
            .cleared_by_provider
            .contains(&self.settings.model_at(state.control.model).name)
            && kind == FailureKind::InvalidRequest
            && !state.recovery.without_clearing;
        let stops_reasoning = refused == Refused::Reasoning
            && self.settings.reasoning.thinking.is_on()
            && !state.recovery.without_reasoning;
        state.recovery.without_reasoning |= refused == Refused::Reasoning;
        state.recovery.without_clearing |= kind == FailureKind::InvalidRequest;
        let memory = &mut state.compaction.context;
        let mut what = leave_out(memory, &state.transcript, refused, only);
        if what.is_empty() && only.is_some() && self.settings.switches.blanks_results {
            // The words of a result may be what it objects to: less is lost than by a cut.
            what = leave_out(memory, &state.transcript, Refused::Results, only);
        }
        let cuts_history =
            has_tried && level_5_autocompact::has_older_history(memory, &state.transcript);
        let what = match what.is_empty() {
            false if cuts_history => format!("{what} and older history left out"),
            false => format!("{what} left out"),
            true if cuts_history => String::from("older history left out"),
            true if is_plainer => String::from("it is no longer asked to clear old results"),
            true if stops_reasoning => String::from("it is no longer asked to reason"),
            true => String::from("nothing could be left out"),
        };
        self.tell(Notice::Repaired { why: format!("{why}; {what}") });
        if has_tried {
            let mut report = Report::default();
            let State { compaction, transcript, tool_context, .. } = &mut self.state;
            let carried = tool_context.carried();
            let message = level_5_autocompact::cut_all(
                &mut compaction.context,
                transcript,
                &carried,
                &mut report,
            );
            self.report(report);
            self.tell(Notice::MessageAdded(message));
        }
    }
}
