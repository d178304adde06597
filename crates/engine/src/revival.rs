//! A run that died with its process is taken up again: what is said of everything that process had
//! under way, so that the loop can go on with its turn count, its guards and its reservations.
//!
//! Nothing is decided here that the rules do not decide: a request whose answer nobody heard is a
//! failed request, a tool whose end nobody saw has an unknown outcome, a hook that did not end is a
//! hook that failed, a question is asked again.

use alloc::vec::Vec;
use windlass_vocabulary::{FailureKind, HookReport, HookVerdict, ModelFailure, ToolOutcome, Usage};

use crate::control::Phase;
use crate::effect::Effect;
use crate::event::Event;
use crate::state::State;
use crate::tool::pairing;
use crate::tool::queue::{Batch, Stage};

/// How a run goes on.
#[derive(Debug, Default)]
pub struct Revival {
    /// Questions that are still open, to be put again.
    pub effects: Vec<Effect>,
    /// What became of everything else that was under way, in this order.
    pub events: Vec<Event>,
}

/// What to do and to say first in a new process. Empty when no run was going on.
#[must_use]
pub fn revival(state: &State) -> Revival {
    let mut revival = Revival::default();
    revival.events.extend(state.side_work.chores.tickets().map(no_text));
    if !state.control.phase.is_running() {
        return revival;
    }
    for entry in &state.queue.entries {
        match &entry.stage {
            Stage::Running(ticket) => {
                let outcome = ToolOutcome {
                    // What a nested session spent is not known here, so its part stays set aside.
                    is_left: entry.inspection.spends,
                    ..ToolOutcome::failure(pairing::unknown(entry.inspection.class))
                };
                revival.events.push(Event::ToolEnded { ticket: *ticket, outcome });
            }
            Stage::Asked(ticket, question) => revival
                .effects
                .push(Effect::AskPermission { ticket: *ticket, question: question.view().clone() }),
            Stage::Hooked(ticket) => {
                let verdict = HookVerdict::Ask("its hook did not come to an end".into());
                let report = HookReport { verdict, ..HookReport::default() };
                revival.events.push(Event::HookEnded { ticket: *ticket, report });
            }
            Stage::Reviewed(ticket, _) => {
                let report = HookReport::default();
                revival.events.push(Event::HookEnded { ticket: *ticket, report });
            }
            Stage::Received | Stage::Deferred | Stage::Ready(_) | Stage::Done(_) => {}
        }
    }
    if let Batch::Asked(ticket) = state.queue.batch {
        revival.events.push(Event::HookEnded { ticket, report: HookReport::default() });
    }
    if let Some(label) =
        state.side_work.pending_tool_summary.as_ref().filter(|label| label.text.is_none())
    {
        revival.events.push(no_text(label.ticket));
    }
    if let Some(event) = of_phase(state) {
        revival.events.push(event);
    }
    revival
}

/// What the phase itself waits for.
fn of_phase(state: &State) -> Option<Event> {
    let ticket = state.errand.map(|errand| errand.ticket);
    let is_model = state.errand.is_some_and(|errand| errand.attempt.is_some());
    match state.control.phase {
        Phase::Streaming => {
            let attempt = state.answer.attempt?;
            Some(Event::ModelFailed { attempt, failure: died() })
        }
        Phase::Waiting => Some(Event::TimerFired { ticket: ticket? }),
        Phase::Compacting(_) if is_model => Some(no_text(ticket?)),
        Phase::Compacting(_) | Phase::Stopping => {
            Some(Event::HookEnded { ticket: ticket?, report: HookReport::default() })
        }
        Phase::Idle
        | Phase::Preparing
        | Phase::RunningTools
        | Phase::Settling(_)
        | Phase::Attaching
        | Phase::Ended(_) => None,
    }
}

fn no_text(ticket: windlass_vocabulary::Ticket) -> Event {
    Event::SummaryEnded { ticket, result: Err(died()), usage: Usage::default() }
}

const DIED: &str = "the process that asked is gone";

fn died() -> ModelFailure {
    ModelFailure::new(FailureKind::Transport, DIED)
}

/// Is it the failure that stands for the death of the process that asked? Nobody saw its bill.
pub(crate) fn is_of_the_dead(failure: &ModelFailure) -> bool {
    failure.kind == FailureKind::Transport && failure.message == DIED
}
