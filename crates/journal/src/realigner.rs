//! Behind a record that was lost: the rest of the session is taken in all the same.
//!
//! The engine hands out numbers to requests and errands, and an event that answers another number
//! than the one that is out is stale. A lost record shifts those numbers, so without help nothing
//! behind it would count. Here events get the number under which the engine waits for them, but only
//! where there is no doubt which one that is: a result must never end up under another call. Where
//! the loop waits for something that was lost, the run is ended and the conversation says so.

use std::collections::BTreeMap;

use windlass_engine::control::Phase;
use windlass_engine::tool::queue::Stage;
use windlass_engine::{Event, Interrupt, State};
use windlass_vocabulary::{AttemptId, ContentBlock, Ticket, ToolCallId};

use crate::record::{JournalNote, ToolIntent};

/// Puts events behind a loss where they belong. Changes nothing before the first loss.
#[derive(Debug, Default)]
pub(crate) struct Realigner {
    has_loss: bool,
    /// The highest number of a request whose answer began.
    highest_started: AttemptId,
    /// The request as the journal numbers it, and as the engine does.
    attempt: Option<(AttemptId, AttemptId)>,
    /// The journal says which call an errand is for. Old ones do not.
    has_intents: bool,
    /// Calls that have no result yet, by the errand's number in the journal.
    calls: BTreeMap<Ticket, ToolCallId>,
}

impl Realigner {
    /// A record was lost here.
    pub(crate) fn mark_loss(&mut self) {
        self.has_loss = true;
    }

    /// Learns which call an errand is for.
    pub(crate) fn observe_note(&mut self, note: &JournalNote) {
        if let JournalNote::Intended(ToolIntent { ticket, call, .. }) = note {
            self.has_intents = true;
            self.calls.insert(*ticket, call.clone());
        }
    }

    /// Does an answer begin that the engine does not wait for? Then this must happen first.
    pub(crate) fn build_missing_events(&self, state: &State, event: &Event) -> Option<[Event; 2]> {
        let Event::ModelStarted { attempt, .. } = event else { return None };
        // A number that was there before belongs to an answer that came too late.
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

    /// The event under the number the engine waits for.
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

    /// A result goes to the call it was intended for, or nowhere.
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

/// The request that is out and whose answer has not begun.
fn find_awaited_attempt(state: &State) -> Option<AttemptId> {
    let is_open = state.control.phase == Phase::Streaming && !state.answer.has_started;
    state.answer.attempt.filter(|_| is_open)
}

/// The only errand of this kind that a call waits for, unless the number is that of one.
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

/// The one errand the phase waits for.
fn align_task_ticket(state: &State, ticket: &mut Ticket) {
    if let Some(errand) = state.errand {
        *ticket = errand.ticket;
    }
}

/// A number that is never handed out.
const UNUSED_TICKET: Ticket = Ticket(u64::MAX);

/// What the conversation says where a part of it is missing.
const LOST_PART_MESSAGE: &str =
    "[A part of this conversation was damaged and could not be read. It goes on here.]";
