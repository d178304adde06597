//! Makes the records after a lost one usable.
//!
//! The engine numbers requests and tasks, and ignores an event with another number than the pending
//! one. A lost record shifts those numbers, so that everything after it would be ignored. This
//! module renumbers events, but only if there is no doubt which pending number is meant: a result
//! must never be assigned to another call. Where the loop waits for a lost event, the run is ended,
//! and the conversation says so.

use std::collections::BTreeMap;

use windlass_engine::control::Phase;
use windlass_engine::tool::queue::Stage;
use windlass_engine::{Event, Interrupt, State};
use windlass_vocabulary::{AttemptId, ContentBlock, Ticket, ToolCallId};

use crate::record::{JournalNote, ToolIntent};

/// Renumbers events after a loss. Changes nothing before the first one.
#[derive(Debug, Default)]
pub(crate) struct Realigner {
    has_loss: bool,
    /// The highest number of an attempt whose answer began.
    highest_started: AttemptId,
    /// The attempt's number in the journal, and in the engine.
    attempt: Option<(AttemptId, AttemptId)>,
    /// The journal has intents, which map tickets to calls. Old ones do not.
    has_intents: bool,
    /// Calls without a result, by their ticket in the journal.
    calls: BTreeMap<Ticket, ToolCallId>,
}

impl Realigner {
    /// A record was lost here.
    pub(crate) fn mark_loss(&mut self) {
        self.has_loss = true;
    }

    /// Records which call a ticket belongs to.
    pub(crate) fn observe_note(&mut self, note: &JournalNote) {
        if let JournalNote::Intended(ToolIntent { ticket, call, .. }) = note {
            self.has_intents = true;
            self.calls.insert(*ticket, call.clone());
        }
    }

    /// If an answer begins that the engine does not expect, returns the events that must come
    /// first.
    pub(crate) fn build_missing_events(&self, state: &State, event: &Event) -> Option<[Event; 2]> {
        let Event::ModelStarted { attempt, .. } = event else { return None };
        // A number that was seen before belongs to an answer that came too late.
        if !self.has_loss
            || *attempt <= self.highest_started
            || find_awaited_attempt(state).is_some()
        {
            return None;
        }
        let content = vec![ContentBlock::Text(LOST_PART_MESSAGE.to_owned())];
        Some([
            Event::Interrupted(Interrupt::Crashed),
            Event::UserSubmitted { content, pinned: false },
        ])
    }

    /// The event with the number the engine expects.
    pub(crate) fn align_event(&mut self, state: &State, mut event: Event) -> Event {
        if let Event::ModelStarted { attempt, .. } = &event {
            self.highest_started = self.highest_started.max(*attempt);
        }
        if !self.has_loss {
            if let Event::ToolEnded { ticket, .. } = &event {
                self.calls.remove(ticket);
            }
            return event;
        }
        match &mut event {
            Event::ModelStarted { attempt, .. } => {
                self.attempt = find_awaited_attempt(state).map(|wanted| (*attempt, wanted));
                self.translate_attempt(attempt);
            }
            Event::ModelDelta { attempt, .. }
            | Event::ModelEnded { attempt, .. }
            | Event::ModelFailed { attempt, .. } => self.translate_attempt(attempt),
            Event::ToolProgressed { ticket, .. } => {
                self.align_tool_ticket(state, ticket);
            }
            Event::ToolEnded { ticket, .. } => {
                let written = *ticket;
                self.align_tool_ticket(state, ticket);
                self.calls.remove(&written);
            }
            Event::PermissionAnswered { ticket, .. } => {
                align_unique_ticket(state, ticket, |stage| matches!(stage, Stage::Asked(..)));
            }
            Event::HookEnded { ticket, .. } => {
                let is_hooked =
                    |stage: &Stage| matches!(stage, Stage::Hooked(_) | Stage::Reviewed(..));
                if state.control.phase == Phase::Stopping {
                    align_task_ticket(state, ticket);
                } else {
                    align_unique_ticket(state, ticket, is_hooked);
                }
            }
            Event::SummaryEnded { ticket, .. } => {
                let label =
                    state.side_work.pending_tool_summary.as_ref().filter(|l| l.text.is_none());
                match (label, state.control.phase) {
                    (_, Phase::Compacting(_)) => align_task_ticket(state, ticket),
                    (Some(label), _) => *ticket = label.ticket,
                    (None, _) => {}
                }
            }
            Event::TimerFired { ticket } => align_task_ticket(state, ticket),
            Event::UserSubmitted { .. }
            | Event::QueueChanged { .. }
            | Event::Adopted { .. }
            | Event::Configured(_)
            | Event::Resumed
            | Event::CompactionAsked { .. }
            | Event::Interrupted(_)
            | Event::AttachmentArrived { .. }
            | Event::ChoreAsked { .. } => {}
        }
        event
    }

    fn translate_attempt(&self, attempt: &mut AttemptId) {
        if let Some((written, wanted)) = self.attempt
            && written == *attempt
        {
            *attempt = wanted;
        }
    }

    /// Assigns a result to its intended call, or to none.
    fn align_tool_ticket(&self, state: &State, ticket: &mut Ticket) {
        let call = self.calls.get(ticket);
        let entry = state.queue.entries.iter().find(|entry| Some(&entry.call.id) == call);
        if let Some(Stage::Running(wanted)) = entry.map(|entry| &entry.stage) {
            *ticket = *wanted;
        } else if self.has_intents {
            *ticket = UNUSED_TICKET;
        }
    }
}

/// The attempt that is pending and whose answer has not begun.
fn find_awaited_attempt(state: &State) -> Option<AttemptId> {
    let is_open = state.control.phase == Phase::Streaming && !state.answer.has_started;
    state.answer.attempt.filter(|_| is_open)
}

/// The only pending task of this kind, unless the number is already that of one.
fn align_unique_ticket(state: &State, ticket: &mut Ticket, is_kind: impl Fn(&Stage) -> bool) {
    let stages = state.queue.entries.iter().map(|entry| &entry.stage);
    let waiting: Vec<Ticket> = stages
        .filter(|stage| is_kind(stage))
        .filter_map(|stage| match stage {
            Stage::Hooked(ticket)
            | Stage::Asked(ticket, _)
            | Stage::Running(ticket)
            | Stage::Reviewed(ticket, _) => Some(*ticket),
            Stage::Received | Stage::Deferred | Stage::Ready(_) | Stage::Done(_) => None,
        })
        .collect();
    if let [wanted] = waiting.as_slice() {
        *ticket = *wanted;
    }
}

/// The one task the phase waits for.
fn align_task_ticket(state: &State, ticket: &mut Ticket) {
    if let Some(errand) = state.errand {
        *ticket = errand.ticket;
    }
}

/// A number that is never used.
const UNUSED_TICKET: Ticket = Ticket(u64::MAX);

/// The text in the conversation in place of a lost part.
const LOST_PART_MESSAGE: &str =
    "[A part of this conversation was damaged and could not be read. It goes on here.]";
