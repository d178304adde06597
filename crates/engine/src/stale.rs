//! Events of dead attempts and errands are dropped here and nowhere else.

use windlass_vocabulary::Ticket;

use crate::control::Phase;
use crate::event::Event;
use crate::state::State;

/// Does this event answer something nobody waits for any more?
pub(crate) fn is_stale(state: &State, event: &Event) -> bool {
    match event {
        Event::UserSubmitted { .. } | Event::Interrupted(_) | Event::AttachmentArrived { .. } => {
            false
        }
        Event::ModelStarted { attempt }
        | Event::ModelDelta { attempt, .. }
        | Event::ModelEnded { attempt, .. }
        | Event::ModelFailed { attempt, .. } => {
            state.control.phase != Phase::Streaming || state.answer.attempt != Some(*attempt)
        }
        Event::ToolProgressed { ticket, .. }
        | Event::ToolEnded { ticket, .. }
        | Event::PermissionAnswered { ticket, .. } => state.queue.position(*ticket).is_none(),
        Event::HookEnded { ticket, .. } => {
            state.queue.position(*ticket).is_none() && !is_awaited(state, *ticket)
        }
        Event::SummaryEnded { ticket, .. } => {
            let is_label =
                state.pending_tool_summary.as_ref().is_some_and(|label| label.ticket == *ticket);
            !is_label && !is_awaited(state, *ticket)
        }
        Event::TimerFired { ticket } => !is_awaited(state, *ticket),
    }
}

fn is_awaited(state: &State, ticket: Ticket) -> bool {
    state.errand.is_some_and(|errand| errand.ticket == ticket)
}
