//! A summary is asked for; it, or a deterministic cut, takes the place of old history.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use windlass_vocabulary::{
    FailureKind, Message, ModelFacts, ModelFailure, Notice, Source, Ticket, Tokens, Usage,
};

use crate::budget::usd;
use crate::cache::Forecast;
use crate::context::quarantine::{Refused, leave_out};
use crate::context::{Projection, Report, estimate, level_5_autocompact};
use crate::control::{Compaction, Phase};
use crate::effect::Effect;
use crate::ledger::{Account, Open};
use crate::request::{self, Order};
use crate::signal::{Shrunk, Signal};
use crate::state::{Errand, PendingLabel};
use crate::step::Loop;
use crate::text;

/// The most a label may be.
const LABEL_TOKENS: Tokens = Tokens(64);

impl Loop<'_> {
    /// Asks for a summary. Where there is nothing to summarise, or no money for it, says at once
    /// what could be done without.
    pub(crate) fn summarize(&mut self, what: Compaction) -> Option<Signal> {
        if what == Compaction::ForMedia {
            let state = &mut self.state;
            let count = leave_out(&mut state.context, &state.transcript, Refused::Media);
            if count > 0 {
                let words = "the provider refused the request as too large";
                let why = format!("{words}; {count} images and documents left out");
                self.tell(Notice::Repaired { why });
                return Some(Signal::Summarized(Shrunk::Stripped));
            }
        }
        let plan = self.with_view(|view| level_5_autocompact::plan(&self.state.context, view));
        if plan.is_none() {
            return Some(Signal::Summarized(Shrunk::Nothing));
        }
        let messages = Projection::new(&self.state.context, &self.state.transcript).messages;
        let output = self.settings.context.summary_tokens;
        match self.errand_call(Source::Compaction, messages, text::COMPACTION, output) {
            Some(errand) => {
                self.state.errand = Some(errand);
                None
            }
            None => Some(self.compact(None)),
        }
    }

    /// A label for the batch of tools that just ended, written by the small model beside the loop.
    pub(crate) fn ask_for_label(&mut self) {
        if !self.settings.tool_labels || self.state.queue.entries.is_empty() {
            return;
        }
        let mut words = String::new();
        for entry in &self.state.queue.entries {
            words.push_str(entry.call.name.as_str());
            words.push(' ');
            words.push_str(entry.call.input.as_str());
            words.push('\n');
        }
        words.push_str(text::LABEL);
        if let Some(PendingLabel { ticket, text: None }) = self.state.pending_tool_summary {
            // Nobody will hear of the old label any more; its bill is taken as estimated.
            let _ = self.state.ledger.settle(Account::Errand(ticket), Usage::default());
        }
        let errand = self.errand_call(Source::ToolLabel, Vec::new(), &words, LABEL_TOKENS);
        self.state.pending_tool_summary =
            errand.map(|errand| PendingLabel { ticket: errand.ticket, text: None });
    }

    /// A model call that is not part of the conversation, paid for like any other. `None` when
    /// there is no money for it.
    fn errand_call(
        &mut self,
        source: Source,
        messages: Vec<Arc<Message>>,
        instruction: &str,
        output: Tokens,
    ) -> Option<Errand> {
        let main = self.settings.model_at(self.state.control.model);
        let model: &ModelFacts = self.settings.small_model.as_ref().unwrap_or(main);
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
        Some(Errand { ticket, attempt: Some(attempt) })
    }

    /// A summary or a label came back.
    pub(crate) fn summary_ended(
        &mut self,
        ticket: Ticket,
        result: Result<String, ModelFailure>,
        usage: Usage,
    ) {
        let _ = self.state.ledger.settle(Account::Errand(ticket), usage);
        if let Some(label) = &mut self.state.pending_tool_summary
            && label.ticket == ticket
        {
            label.text = result.ok();
            return;
        }
        self.state.errand = None;
        if !matches!(self.state.control.phase, Phase::Compacting(_)) {
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
        let Some(plan) =
            self.with_view(|view| level_5_autocompact::plan(&self.state.context, view))
        else {
            return Signal::Summarized(Shrunk::Nothing);
        };
        let tokens = self.tokens_of();
        let mut report = Report::default();
        let state = &mut self.state;
        let (shrunk, message) = level_5_autocompact::place(
            &mut state.context,
            &mut state.transcript,
            &tokens,
            &plan,
            summary,
            &mut report,
        );
        self.report(report);
        if let Some(message) = message {
            self.tell(Notice::MessageAdded(message));
        }
        let failures = self.state.control.auto_compact.failures.saturating_add(1);
        if shrunk != Shrunk::Summary && failures == self.limits.summary_failures_max {
            self.warn("summaries failed three times in a row; auto-compaction is off from now on");
        }
        Signal::Summarized(shrunk)
    }
}
