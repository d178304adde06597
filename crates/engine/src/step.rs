//! The only door: an event goes in, the next state and a list of effects come out.
//!
//! It cannot fail and cannot wait. Whatever goes wrong outside is an event.

use alloc::vec::Vec;
use windlass_vocabulary::{HookReport, Message, Notice, PermissionAnswer, Ticket};

use crate::bound::{calls_left, cost};
use crate::control::Phase;
use crate::decide::{Act, decide};
use crate::effect::Effect;
use crate::event::{Event, Interrupt};
use crate::ledger::Account;
use crate::settings::{Limits, Settings};
use crate::signal::Signal;
use crate::stale;
use crate::state::State;
use crate::tool::queue::Batch;

/// What a step gives back.
#[derive(Debug, PartialEq, Eq)]
pub struct Step {
    /// Where we are now.
    pub state: State,
    /// What to do, in the order in which it must be started.
    pub effects: Vec<Effect>,
}

/// Takes in one event.
#[must_use]
pub fn step(state: State, event: Event, settings: &Settings) -> Step {
    let limits = settings.limits();
    let mut turn = Loop { state, settings, limits, effects: Vec::new(), interrupt: None };
    match stale::is_stale(&turn.state, &event) {
        false => turn.take(event),
        true => turn.book_late(&event),
    }
    Step { state: turn.state, effects: turn.effects }
}

/// One step under way. The phases add their methods to it, each in its own file.
pub(crate) struct Loop<'a> {
    pub(crate) state: State,
    pub(crate) settings: &'a Settings,
    pub(crate) limits: Limits,
    pub(crate) effects: Vec<Effect>,
    /// Who interrupts, while an interrupt is being carried out.
    pub(crate) interrupt: Option<Interrupt>,
}

impl Loop<'_> {
    fn take(&mut self, event: Event) {
        match event {
            Event::UserSubmitted { content, pinned } => self.submitted(content, pinned),
            Event::Resumed => self.resumed(),
            Event::QueueChanged { place, content } => self.queue_changed(place, content),
            Event::Adopted { messages } => self.adopted(messages),
            Event::Configured(settings) => self.state.adopt(&settings),
            Event::CompactionAsked { focus } => self.compaction_asked(focus),
            Event::ChoreAsked { chore, about } => self.chore_asked(chore, &about),
            Event::Interrupted(why) => self.interrupted(why),
            Event::ModelStarted { attempt, ids } => {
                self.state.answer.has_started = true;
                if let Some(ids) = ids {
                    self.tell(Notice::AnswerStarted { attempt, ids });
                }
            }
            Event::ModelDelta { attempt, delta } => self.streamed(attempt, delta),
            Event::ModelEnded { attempt: _, stop, usage } => self.answered(stop, usage),
            Event::ModelFailed { attempt: _, failure } => self.failed(failure),
            Event::ToolProgressed { ticket, text } => self.tool_progressed(ticket, text),
            Event::ToolEnded { ticket, outcome } => {
                if let Some(place) = self.state.queue.position(ticket) {
                    self.tool_ended(place, ticket, outcome);
                    self.tools_moved();
                }
            }
            Event::PermissionAnswered { ticket, answer, inspection } => {
                let is_interrupt = matches!(answer, PermissionAnswer::Deny { interrupt: true, .. });
                if let Some(place) = self.state.queue.position(ticket) {
                    self.permission_answered(place, answer, inspection);
                }
                match is_interrupt {
                    true => self.interrupted(Interrupt::User),
                    false => self.tools_moved(),
                }
            }
            Event::HookEnded { ticket, report } => self.hook_ended(ticket, report),
            Event::SummaryEnded { ticket, result, usage } => {
                self.summary_ended(ticket, result, usage);
            }
            Event::AttachmentArrived { kind, text } => {
                self.state.inbox.arrived.push((kind, text));
            }
            Event::TimerFired { ticket: _ } => {
                self.state.errand = None;
                self.drive(Signal::TimerFired);
            }
        }
    }

    fn hook_ended(&mut self, ticket: Ticket, report: HookReport) {
        self.state.ledger.book(report.spent);
        match self.state.queue.position(ticket) {
            Some(place) => {
                self.tool_hook_ended(place, report);
                self.tools_moved();
            }
            None if self.state.queue.batch == Batch::Asked(ticket) => {
                self.batch_hooks_ended(report);
            }
            None if self.state.control.phase == Phase::Stopping => self.stop_hooks_ended(report),
            None => self.compaction_hooks_ended(report),
        }
    }

    /// Nothing follows from a late event, but a nested session that was cancelled, or left in the
    /// background, still sends its bill: the rest of its allowance is free again.
    fn book_late(&mut self, event: &Event) {
        if let Event::ToolEnded { ticket, outcome } = event
            && self.state.ledger.is_open(Account::Nested(*ticket))
            && self.state.queue.position(*ticket).is_none()
        {
            self.state.ledger.settle_nested(*ticket, outcome.spent);
        }
    }

    pub(crate) fn interrupted(&mut self, why: Interrupt) {
        self.interrupt = Some(why);
        // A new message takes the place of what is said, not of work that was given away.
        if why != Interrupt::NewMessage {
            let left = self.state.ledger.left();
            self.effects.extend(left.map(|ticket| Effect::CancelTool { ticket }));
        }
        if matches!(why, Interrupt::Shutdown | Interrupt::Crashed) {
            self.drop_chores();
        }
        self.drive(Signal::Interrupted);
    }

    /// Decides and acts until there is something to wait for. Control changes here and nowhere else.
    pub(crate) fn drive(&mut self, first: Signal) {
        let mut signal = first;
        loop {
            let before = self.state.control;
            let decision = decide(before, signal, &self.limits);
            let is_new_run = !before.phase.is_running();
            assert!(
                is_new_run
                    || calls_left(&decision.control, &self.limits)
                        + cost(decision.act, &self.limits)
                        <= calls_left(&before, &self.limits),
                "the loop must come nearer to its end: {before:?} -> {decision:?}"
            );
            self.state.control = decision.control;
            match self.act(decision.act) {
                Some(next) => signal = next,
                None => return,
            }
        }
    }

    /// Carries a decision out. Returns what that showed at once, if anything.
    fn act(&mut self, act: Act) -> Option<Signal> {
        match act {
            Act::Nothing => None,
            Act::Prepare(because) => Some(self.prepare(because)),
            Act::Call => {
                self.call();
                None
            }
            Act::Backoff => {
                self.back_off();
                None
            }
            Act::Summarize(what) => self.summarize(what),
            Act::AwaitTools => self.await_tools(),
            Act::Settle => self.settle_deferred(),
            Act::Attach => Some(self.attach()),
            Act::RunStopHooks => {
                self.run_stop_hooks();
                None
            }
            Act::Finish(terminal, why) => self.finish(terminal, why),
        }
    }

    pub(crate) fn tell(&mut self, notice: Notice) {
        self.effects.push(Effect::Tell(notice));
    }

    /// Adds a message to the transcript and tells of it.
    pub(crate) fn add(&mut self, message: Message) {
        let message = self.state.transcript.push(message);
        self.tell(Notice::MessageAdded(message));
    }
}
