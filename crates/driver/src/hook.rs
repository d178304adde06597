//! From the effect to the hook crate and back as an event.

use windlass_engine::Event;
use windlass_hook::HookSet;
use windlass_vocabulary::{HookPoint, Ticket};

/// What the hooks at this point say; nothing when nobody waits for it.
pub(crate) fn run(hooks: &HookSet, ticket: Option<Ticket>, point: HookPoint) -> Option<Event> {
    let report = hooks.report(point);
    ticket.map(|ticket| Event::HookEnded { ticket, report })
}
