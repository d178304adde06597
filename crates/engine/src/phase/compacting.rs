//! A summary is asked for; it, or a deterministic cut, takes the place of old history.

use alloc::format;
use alloc::string::String;
use windlass_vocabulary::{
    FailureKind, Messages, ModelFacts, ModelFailure, Notice, Role, Source, Ticket, Tokens, Usage,
};

use crate::budget::usd;
use crate::cache::Forecast;
use crate::context::quarantine::{Refused, leave_out};
use crate::context::{Report, estimate, level_5_autocompact};
use crate::control::Compaction;
use crate::effect::Effect;
use crate::ledger::{Account, Open};
use crate::request::{self, Order};
use crate::settings::Settings;
use crate::signal::{Shrunk, Signal};
use crate::state::{Errand, PendingLabel, State};
use crate::step::Loop;
use crate::text;

/// The most a label may be.
const LABEL_TOKENS: Tokens = Tokens(64);

impl<'a> Loop<'a> {
    /// Asks for a summary. Where there is nothing to summarise, or no money for it, says at once
    /// what could be done without.
    pub(crate) fn summarize(&mut self, what: Compaction) -> Option<Signal> {
        if what == Compaction::ForMedia {
            let state = &mut self.state;
            let what = leave_out(&mut state.context, &state.transcript, Refused::Media, None);
            if !what.is_empty() {
                let words = "the provider refused the request as too large";
                let why = format!("{words}; {what} left out");
                self.tell(Notice::Repaired { why });
                return Some(Signal::Summarized(Shrunk::Stripped));
            }
        }
        if self.with_context(level_5_autocompact::plan).is_none() {
            return Some(Signal::Summarized(Shrunk::Nothing));
        }
        match self.ask_for_summary(0) {
            true => None,
            false => Some(self.compact(None)),
        }
    }

    /// Asks the next model that has not been asked for this summary; says whether there was one.
    fn ask_for_summary(&mut self, tries: u8) -> bool {
        let messages = self.state.context.projection(&self.state.transcript).messages.clone();
        let output = self.settings.context.summary_tokens;
        let model = self.errand_model(tries);
        let errand = model.and_then(|model| {
            self.errand_call(model, Source::Compaction, messages, text::COMPACTION, output)
        });
        self.state.errand = errand.map(|errand| Errand { tries: tries + 1, ..errand });
        errand.is_some()
    }

    /// Whom to ask for a text beside the conversation: the small model, then the one in use, then
    /// those after it; no more of them than the bound allows for.
    fn errand_model(&self, tries: u8) -> Option<&'a ModelFacts> {
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
        if !self.settings.tool_labels {
            return;
        }
        let mut words = String::new();
        let answer = self.state.transcript.messages().rfind(|m| m.role == Role::Assistant);
        for call in answer.iter().flat_map(|message| message.calls()) {
            words.push_str(call.name.as_str());
            words.push(' ');
            words.push_str(call.input.as_str());
            words.push('\n');
        }
        words.push_str(text::LABEL);
        if let Some(PendingLabel { ticket, text: None }) = self.state.pending_tool_summary {
            // Nobody will hear of the old label any more; its bill is taken as estimated.
            let _ = self.state.ledger.settle(Account::Errand(ticket), Usage::default());
        }
        let model = self.errand_model(0);
        let errand = model.and_then(|model| {
            self.errand_call(model, Source::ToolLabel, Messages::default(), &words, LABEL_TOKENS)
        });
        self.state.pending_tool_summary =
            errand.map(|errand| PendingLabel { ticket: errand.ticket, text: None });
    }

    /// A model call that is not part of the conversation, paid for like any other. `None` when
    /// there is no money for it.
    fn errand_call(
        &mut self,
        model: &ModelFacts,
        source: Source,
        messages: Messages,
        instruction: &str,
        output: Tokens,
    ) -> Option<Errand> {
        let messages = request::with_instruction(&self.state, messages, instruction);
        let raw = self.overhead() + messages.iter().map(|m| estimate::message(m)).sum::<u64>();
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

    /// A summary or a label came back.
    pub(crate) fn summary_ended(
        &mut self,
        ticket: Ticket,
        result: Result<String, ModelFailure>,
        usage: Usage,
    ) {
        let account = Account::Errand(ticket);
        match result.is_err() && usage == Usage::default() {
            true => self.state.ledger.release(account),
            false => drop(self.state.ledger.settle(account, usage)),
        }
        if let Some(label) = &mut self.state.pending_tool_summary
            && label.ticket == ticket
        {
            label.text = result.ok();
            return;
        }
        let tries = self.state.errand.take().map_or(u8::MAX, |errand| errand.tries);
        if result.is_err() && self.ask_for_summary(tries) {
            return;
        }
        let summary = result.and_then(|words| match words.trim().is_empty() {
            true => Err(ModelFailure::new(FailureKind::ServerFault, "the summary is empty")),
            false => Ok(words),
        });
        if let Err(failure) = &summary {
            let words = format!("the summary failed ({}); history is cut", failure.message);
            self.warn(&words);
        }
        let signal = self.compact(summary.ok().as_deref());
        self.drive(signal);
    }

    /// Sets the boundary. Also says when auto-compaction is switched off by repeated failure.
    fn compact(&mut self, summary: Option<&str>) -> Signal {
        let Some(plan) = self.with_context(level_5_autocompact::plan) else {
            return Signal::Summarized(Shrunk::Nothing);
        };
        let overhead = self.overhead();
        let mut report = Report::default();
        let State { context, transcript, ledger, .. } = &mut self.state;
        let (shrunk, message) = level_5_autocompact::place(
            context,
            transcript,
            &|raw| ledger.estimate(overhead + raw),
            &plan,
            summary,
            &mut report,
        );
        self.report(report);
        if let Some(message) = message {
            self.tell(Notice::MessageAdded(message));
        }
        let failures = self.state.control.auto_compact.failures.saturating_add(1);
        if shrunk == Shrunk::Cut && failures == self.limits.summary_failures_max {
            self.warn("summaries failed three times in a row; auto-compaction is off from now on");
        }
        Signal::Summarized(shrunk)
    }
}
