//! Events of dead attempts and errands are dropped here and nowhere else.
//!
//! An event must come from the errand that is waited for and be of its kind: an answer to a question
//! cannot end a tool, whatever ticket it carries.

use windlass_vocabulary::Ticket;

use crate::control::Phase;
use crate::event::Event;
use crate::state::State;
use crate::tool::queue::{Batch, Stage};

/// Does this event answer something nobody waits for any more?
pub(crate) fn is_stale(state: &State, event: &Event) -> bool {
    match event {
        Event::UserSubmitted { .. }
        | Event::Resumed
        | Event::QueueChanged { .. }
        | Event::Adopted { .. }
        | Event::Configured(_)
        | Event::CompactionAsked { .. }
        | Event::ChoreAsked { .. }
        | Event::Interrupted(_)
        | Event::AttachmentArrived { .. } => false,
        Event::ModelStarted { attempt, .. }
        | Event::ModelDelta { attempt, .. }
        | Event::ModelEnded { attempt, .. }
        | Event::ModelFailed { attempt, .. } => {
            state.control.phase != Phase::Streaming || state.answer.attempt != Some(*attempt)
        }
        Event::ToolProgressed { ticket, .. } | Event::ToolEnded { ticket, .. } => {
            !is_at(state, *ticket, |stage| matches!(stage, Stage::Running(_)))
        }
        Event::PermissionAnswered { ticket, .. } => {
            !is_at(state, *ticket, |stage| matches!(stage, Stage::Asked(..)))
        }
        Event::HookEnded { ticket, .. } => {
            let is_hooked = |stage: &Stage| matches!(stage, Stage::Hooked(_) | Stage::Reviewed(..));
            !is_at(state, *ticket, is_hooked)
                && state.queue.batch != Batch::Asked(*ticket)
                && !is_awaited(state, *ticket, Phase::Stopping)
                && !is_compacting(state, *ticket, Wanted::Hooks)
        }
        Event::SummaryEnded { ticket, .. } => {
            let label = state.side_work.pending_tool_summary.as_ref();
            let is_label = label.is_some_and(|l| l.ticket == *ticket && l.text.is_none());
            !is_label
                && !state.side_work.chores.is_open(*ticket)
                && !is_compacting(state, *ticket, Wanted::Summary)
        }
        Event::TimerFired { ticket } => !is_awaited(state, *ticket, Phase::Waiting),
    }
}

/// What a compaction waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Hooks,
    Summary,
}

/// Does a compaction wait for this errand, and for an errand of this kind? Only a summary is a
/// model's work.
fn is_compacting(state: &State, ticket: Ticket, wanted: Wanted) -> bool {
    let is_model = state.errand.is_some_and(|errand| errand.attempt.is_some());
    matches!(state.control.phase, Phase::Compacting(_))
        && is_awaited(state, ticket, state.control.phase)
        && is_model == (wanted == Wanted::Summary)
}

/// Does a call wait for this errand, and for an errand of this kind?
fn is_at(state: &State, ticket: Ticket, is_kind: impl Fn(&Stage) -> bool) -> bool {
    let place = state.queue.position(ticket);
    let entry = place.and_then(|place| state.queue.entries.get(place));
    entry.is_some_and(|entry| is_kind(&entry.stage))
}

/// Does this phase wait for this errand?
fn is_awaited(state: &State, ticket: Ticket, phase: Phase) -> bool {
    state.control.phase == phase && state.errand.is_some_and(|errand| errand.ticket == ticket)
}
