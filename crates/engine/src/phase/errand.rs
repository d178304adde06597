//! A text that is asked of a model beside the conversation: a summary, or a label for a batch of
//! tools. Paid for like any other call.

use alloc::string::String;
use windlass_vocabulary::{Chore, Messages, ModelFacts, RequestSource, Role, Tokens, Usage};

use crate::budget::usd;
use crate::cache::Forecast;
use crate::context::estimate;
use crate::effect::Effect;
use crate::ledger::{Account, Open};
use crate::request::{self, Order};
use crate::settings::Settings;
use crate::state::{Errand, PendingLabel, State};
use crate::step::Loop;
use crate::text;

/// The most a label may be.
const LABEL_TOKENS: Tokens = Tokens(64);

impl<'a> Loop<'a> {
    /// The models to ask for a text beside the conversation: the small model, then the one in use, then
    /// those after it; no more of them than the bound allows for.
    pub(crate) fn errand_model(&self, tries: u8) -> Option<&'a ModelFacts> {
        let settings: &'a Settings = self.settings;
        let chain = (self.state.control.model..self.limits.models).map(|at| settings.model_at(at));
        settings
            .small_model
            .iter()
            .chain(chain)
            .take(usize::from(self.limits.models))
            .nth(usize::from(tries))
    }

    /// A label for the batch of tools that just ended, written by the small model beside the loop.
    pub(crate) fn ask_for_label(&mut self) {
        if !self.settings.switches.tool_labels {
            return;
        }
        let mut words = String::new();
        let answer = self.state.transcript.messages().rfind(|m| m.role == Role::Assistant);
        for call in answer.iter().flat_map(|message| message.tool_calls()) {
            words.push_str(call.name.as_str());
            words.push(' ');
            words.push_str(call.input.as_str());
            words.push('\n');
        }
        words.push_str(text::LABEL);
        if let Some(PendingLabel { ticket, text: None }) = self.state.side_work.pending_tool_summary
        {
            // Nobody will hear of the old label any more; its bill is taken as estimated.
            let _ = self.state.ledger.settle(Account::Errand(ticket), Usage::default());
        }
        let model = self.errand_model(0);
        let errand = model.and_then(|model| {
            self.errand_call(model, RequestSource::ToolLabel, &words, LABEL_TOKENS)
        });
        self.state.side_work.pending_tool_summary =
            errand.map(|errand| PendingLabel { ticket: errand.ticket, text: None });
    }

    /// A model call that is not part of the conversation, paid for like any other. `None` when
    /// there is no money for it.
    pub(crate) fn errand_call(
        &mut self,
        model: &ModelFacts,
        source: RequestSource,
        instruction: &str,
        output: Tokens,
    ) -> Option<Errand> {
        let State { compaction, transcript, side_work, .. } = &mut self.state;
        let (before, before_raw) = match source {
            RequestSource::Main | RequestSource::Compaction => {
                let projection = compaction.context.projection(transcript);
                (projection.messages.clone(), projection.raw)
            }
            RequestSource::Chore(Chore::Question) => {
                side_work.chores.snapshot.clone().unwrap_or_default()
            }
            // These stand outside the conversation.
            RequestSource::ToolLabel | RequestSource::Aside | RequestSource::Chore(_) => {
                (Messages::default(), 0)
            }
        };
        let messages = request::with_instruction(&self.state, before, instruction);
        let raw = self.overhead() + before_raw + estimate::text(instruction);
        let predicted = self.state.ledger.estimate(raw);
        let input = Tokens(estimate::worst_case(predicted.0));
        let wanted = output.min(model.output_max);
        let grant = usd::grant(self.settings, &self.state.ledger, model, input, wanted)?;
        let ticket = self.state.next.ticket();
        let open = Open {
            model: model.name.clone(),
            prices: model.prices,
            source,
            predicted,
            raw,
            reserved: grant.reserved,
            forecast: Forecast::default(),
        };
        self.state.ledger.reserve(Account::Errand(ticket), open);
        let attempt = self.state.next.attempt();
        let order = Order {
            attempt,
            model: model.name.clone(),
            messages,
            output_max: grant.output,
            source,
        };
        let request = request::build(&self.state, self.settings, order);
        self.effects.push(Effect::Summarize { ticket, request });
        Some(Errand { ticket, attempt: Some(attempt), tries: 1 })
    }
}
