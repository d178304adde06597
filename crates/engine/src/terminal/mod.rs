//! The eleven ways to stop, one file each, named as in the specification.
//!
//! Each pays what it owes the transcript and says why in words; here is what all have in common.

mod aborted_streaming;
mod aborted_tools;
mod blocking_limit;
mod completed;
mod hook_stopped;
mod image_error;
mod max_budget_usd;
mod max_turns;
mod model_error;
mod prompt_too_long;
mod stop_hook_prevented;

use alloc::boxed::Box;
use alloc::string::String;
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{
    Message, MessageOrigin, MetaKind, ModelFailure, Outcome, Terminal, Usage,
};

use crate::decide::Why;
use crate::effect::Effect;
use crate::event::Interrupt;
use crate::ledger::Account;
use crate::signal::Signal;
use crate::state::Answer;
use crate::step::Loop;
use crate::text;

/// What a terminal says of the run.
pub(crate) struct Owed {
    outcome: Option<Outcome>,
    why: String,
    failure: Option<ModelFailure>,
}

impl Owed {
    fn plain(why: &str) -> Self {
        Self { outcome: None, why: why.into(), failure: None }
    }
}

impl Loop<'_> {
    /// Ends the run. If input is waiting that was not meant to be interrupted, the next begins.
    pub(crate) fn finish(&mut self, terminal: Terminal, why: Why) -> Option<Signal> {
        let Owed { outcome, why, failure } = self.pay(terminal, why);
        let is_deferred = self.state.control.calls_open;
        assert!(
            self.state.queue.entries.is_empty() || (is_deferred && self.state.queue.is_deferred()),
            "every call is closed at every terminal, except a deferred one"
        );
        let open = self.state.queue.entries.first();
        let deferred = open.map(|entry| Box::new(entry.call.clone()));
        self.apply_updates();
        self.state.recovery.withheld = None;
        self.state.errand = None;
        self.state.answer = Answer::default();
        self.effects.push(Effect::Finish(RunEnding {
            terminal,
            outcome,
            why,
            failure,
            turns: self.state.control.turn,
            usage: self.state.ledger.run_usage(),
            cost: self.state.ledger.spent(),
            deferred,
        }));
        if is_deferred || terminal.is_abort() || self.state.inbox.queued.is_empty() {
            self.after_run(terminal);
            return None;
        }
        let mut queued = core::mem::take(&mut self.state.inbox.queued).into_iter();
        let next = queued.next()?;
        self.begin_run(next);
        self.state.inbox.queued = queued.collect();
        Some(Signal::Submitted)
    }

    fn pay(&mut self, terminal: Terminal, why: Why) -> Owed {
        match terminal {
            Terminal::Completed => completed::completed(self, why),
            Terminal::BlockingLimit => blocking_limit::blocking_limit(self, why),
            Terminal::PromptTooLong => prompt_too_long::prompt_too_long(self),
            Terminal::ImageError => image_error::image_error(self),
            Terminal::ModelError => model_error::model_error(self),
            Terminal::AbortedStreaming => aborted_streaming::aborted_streaming(self),
            Terminal::AbortedTools => aborted_tools::aborted_tools(self),
            Terminal::StopHookPrevented => stop_hook_prevented::stop_hook_prevented(self, why),
            Terminal::HookStopped => hook_stopped::hook_stopped(self),
            Terminal::MaxTurns => max_turns::max_turns(self),
            Terminal::MaxBudgetUsd => max_budget_usd::max_budget_usd(self),
        }
    }

    /// Drops every request that is out. What they cost is taken as estimated where no figures came;
    /// of those that a dead process had out, nobody knows how they went on.
    pub(crate) fn cancel_calls_to_models(&mut self) {
        let is_crash = self.interrupt == Some(Interrupt::Crashed);
        if let Some(attempt) = self.state.answer.attempt
            && self.state.ledger.is_open(Account::Attempt(attempt))
        {
            self.effects.push(Effect::CancelModel { attempt });
            match is_crash {
                true => self.abandon_cut(),
                false => self.settle_cut(),
            }
        }
        if let Some(errand) = self.state.errand
            && let Some(attempt) = errand.attempt
        {
            self.effects.push(Effect::CancelModel { attempt });
            let account = Account::Errand(errand.ticket);
            let usage = Usage::default();
            let _ = match is_crash {
                true => self.state.ledger.abandon(account, usage),
                false => self.state.ledger.settle(account, usage),
            };
        }
    }

    /// Tells the model why its work broke off, unless a new message says it.
    pub(crate) fn note_interruption(&mut self) {
        if self.interrupt == Some(Interrupt::NewMessage) {
            return;
        }
        let id = self.state.transcript.next_id();
        let origin = MessageOrigin::Meta(MetaKind::Interruption);
        let words = match self.interrupt {
            Some(Interrupt::Crashed) => text::CRASHED,
            Some(Interrupt::User | Interrupt::NewMessage | Interrupt::Shutdown) | None => {
                text::INTERRUPTION
            }
        };
        self.add(Message::user_text(id, origin, words));
    }
}
