//! A summary is asked for; it, or a deterministic cut, takes the place of old history.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use windlass_vocabulary::{
    AttachmentKind, FailureKind, HookPoint, HookReport, HookVerdict, Message, ModelFailure, Notice,
    RequestSource, Ticket, Usage,
};

use crate::context::level_5_autocompact::{self, Wish};
use crate::context::quarantine::{Refused, leave_out};
use crate::context::{self, Report, Room, estimate};
use crate::control::{Compaction, Phase};
use crate::effect::{Effect, HookSubject};
use crate::ledger::Account;
use crate::revival;
use crate::signal::{Shrunk, Signal};
use crate::state::{Errand, State};
use crate::step::Loop;
use crate::text;

impl Loop<'_> {
    /// Asks for a summary. Where there is nothing to summarise, or no money for it, says at once
    /// what could be done without.
    pub(crate) fn summarize(&mut self, what: Compaction) -> Option<Signal> {
        if what == Compaction::ForMedia {
            let state = &mut self.state;
            let what =
                leave_out(&mut state.compaction.context, &state.transcript, Refused::Media, None);
            if !what.is_empty() {
                let words = "the provider refused the request as too large";
                let why = format!("{words}; {what} left out");
                self.tell(Notice::Repaired { why });
                return Some(Signal::Summarized(Shrunk::Stripped));
            }
        }
        // Results that no request has carried yet are cut to their limits first.
        let report = self.with_context(|memory, view| context::prepare(memory, view, false));
        self.report(report);
        if self.with_context(level_5_autocompact::plan).is_none() {
            return Some(Signal::Summarized(Shrunk::Nothing));
        }
        if self.settings.hooks.pre_compact {
            let ticket = self.state.next.ticket();
            self.state.errand = Some(Errand { ticket, attempt: None, tries: 0 });
            let by_hand = self.is_by_hand();
            let focus = self.state.compaction.focus.clone();
            self.effects.push(Effect::RunHook {
                ticket: Some(ticket),
                point: HookPoint::PreCompact,
                subject: HookSubject::Compaction { by_hand, focus },
            });
            return None;
        }
        self.begin_summary()
    }

    /// The hooks before a compaction have answered: an objection prevents it, and what they add
    /// goes into the order.
    pub(crate) fn compaction_hooks_ended(&mut self, report: HookReport) {
        self.state.errand = None;
        let HookReport { verdict, name, context, .. } = report;
        let signal = match verdict {
            HookVerdict::Block(text) | HookVerdict::Halt(text) => {
                self.tell(Notice::HookMessage { point: HookPoint::PreCompact, name, text });
                Some(Signal::Summarized(Shrunk::Nothing))
            }
            HookVerdict::Pass
            | HookVerdict::Allow
            | HookVerdict::Ask(_)
            | HookVerdict::Defer(_) => {
                let focus = self.state.compaction.focus.take().into_iter().chain(context);
                let focus: Vec<String> = focus.collect();
                self.state.compaction.focus =
                    Some(focus.join("\n")).filter(|focus| !focus.is_empty());
                self.begin_summary()
            }
        };
        if let Some(signal) = signal {
            self.drive(signal);
        }
    }

    /// Has the files in hand read again beside the summary, and asks for it.
    fn begin_summary(&mut self) -> Option<Signal> {
        let files = &self.state.tool_context.files;
        if !files.is_empty() {
            let newest_first: Vec<&str> = files.iter().rev().map(|path| &**path).collect();
            let kind = AttachmentKind::FilesInHand;
            let about = newest_first.join("\n");
            self.effects.push(Effect::Prefetch { kind, about });
        }
        match self.ask_for_summary(0) {
            true => None,
            false => Some(self.compact(None)),
        }
    }

    fn is_by_hand(&self) -> bool {
        self.state.control.phase == Phase::Compacting(Compaction::ByHand)
    }

    /// Asks the next model that has not been asked for this summary; says whether there was one.
    fn ask_for_summary(&mut self, tries: u8) -> bool {
        let output = self.settings.context.summary_tokens;
        let model = self.errand_model(tries);
        let words = text::compaction(self.state.compaction.focus.as_deref());
        let errand = model
            .and_then(|model| self.errand_call(model, RequestSource::Compaction, &words, output));
        self.state.errand = errand.map(|errand| Errand { tries: tries + 1, ..errand });
        errand.is_some()
    }

    /// A summary or a label came back.
    pub(crate) fn summary_ended(
        &mut self,
        ticket: Ticket,
        result: Result<String, ModelFailure>,
        usage: Usage,
    ) {
        let account = Account::Errand(ticket);
        match &result {
            Err(failure) if revival::is_of_the_dead(failure) => {
                let _ = self.state.ledger.abandon(account, usage);
            }
            Err(_) if usage == Usage::default() => self.state.ledger.release(account),
            _ => drop(self.state.ledger.settle(account, usage)),
        }
        if let Some(chore) = self.state.side_work.chores.close(ticket) {
            return self.chore_ended(chore, result);
        }
        if let Some(label) = &mut self.state.side_work.pending_tool_summary
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
            let then = if self.is_by_hand() { "stays as it is" } else { "is cut" };
            self.warn(&format!("the summary failed ({}); history {then}", failure.message));
        }
        let signal = self.compact(summary.ok().as_deref());
        self.drive(signal);
    }

    /// Sets the boundary. Also says when auto-compaction is switched off by repeated failure.
    fn compact(&mut self, summary: Option<&str>) -> Signal {
        self.state.compaction.focus = None;
        let Some(plan) = self.with_context(level_5_autocompact::plan) else {
            return Signal::Summarized(Shrunk::Nothing);
        };
        let overhead = self.overhead();
        let mut report = Report::default();
        let carried = self.state.tool_context.carried();
        let wish = Wish { summary, carried: &carried, may_cut: !self.is_by_hand() };
        let State { compaction, transcript, ledger, .. } = &mut self.state;
        let raw_before = compaction.context.projection(transcript).raw;
        let (shrunk, message) = level_5_autocompact::place(
            &mut compaction.context,
            transcript,
            &|raw| ledger.estimate(overhead + raw),
            (&plan, &wish),
            &mut report,
        );
        self.report(report);
        if let Some(message) = message {
            self.compacted(&message);
            self.tell(Notice::MessageAdded(message));
            self.add_files_in_hand(raw_before);
        }
        let limit = self.limits.summary_failures_max;
        let failures = self.state.control.auto_compact.failures;
        if shrunk == Shrunk::Cut && failures.saturating_add(1) == limit {
            self.warn(&format!(
                "summaries failed in a row, {limit} by now; auto-compaction is off for this session"
            ));
        }
        Signal::Summarized(shrunk)
    }

    /// Tells the hooks what stands for the history now.
    fn compacted(&mut self, message: &Message) {
        if self.settings.hooks.post_compact {
            let by_hand = self.is_by_hand();
            let summary = message.text();
            self.effects.push(Effect::RunHook {
                ticket: None,
                point: HookPoint::PostCompact,
                subject: HookSubject::Compacted { by_hand, summary },
            });
        }
    }

    /// What was read again beside the summary goes behind it, as far as it fits and what is sent stays
    /// smaller than it was. What is not ready yet follows at the next tool boundary.
    fn add_files_in_hand(&mut self, raw_before: u64) {
        let room = Room::new(self.settings, self.state.control.model);
        let arrived = core::mem::take(&mut self.state.inbox.arrived);
        for (kind, text) in arrived {
            if kind != AttachmentKind::FilesInHand {
                self.state.inbox.arrived.push((kind, text));
                continue;
            }
            let raw = estimate::frame() + estimate::text(&text);
            let (tokens, sent) = self.with_context(|memory, view| {
                let sent = memory.projection(view.transcript).raw;
                ((view.estimate)(view.overhead + sent + raw), sent + raw)
            });
            match tokens.0 <= room.threshold.0 / 4 * 3 && sent < raw_before {
                true => self.add_attachment(kind, text),
                false => self.warn("the files in hand do not fit beside the summary"),
            }
        }
    }
}
