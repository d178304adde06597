//! Every call gets exactly one result: when all have ended, and when the run ends before they have.

use alloc::vec::Vec;
use windlass_vocabulary::{
    ContentBlock, EffectClass, Message, MessageOrigin, Notice, Role, ToolOutcome,
};

use super::queue::{self, Stage};
use crate::effect::Effect;
use crate::event::Interrupt;
use crate::step::Loop;
use crate::text;

impl Loop<'_> {
    /// Writes the results of the batch, in the order of the calls, and clears the queue.
    pub(crate) fn commit_results(&mut self) {
        let queue = core::mem::take(&mut self.state.queue);
        let mut content: Vec<ContentBlock> = Vec::new();
        for entry in &queue.entries {
            if let Stage::Done(outcome) = &entry.stage {
                content.push(ContentBlock::ToolResult(queue::result(&entry.call, outcome)));
            }
        }
        content.extend(queue.remarks.into_iter().map(ContentBlock::Text));
        if content.is_empty() {
            return;
        }
        self.add(Message {
            id: self.state.transcript.next_id(),
            role: Role::User,
            origin: MessageOrigin::ToolResults,
            content,
            model: None,
            pinned: false,
        });
    }

    /// Ends every call that has not ended: what runs is cancelled, what is asked is withdrawn, and
    /// each gets a result that says so.
    pub(crate) fn close_open_calls(&mut self) {
        let mut effects = Vec::new();
        for entry in &mut self.state.queue.entries {
            let why = match &entry.stage {
                Stage::Done(_) => continue,
                Stage::Running(ticket) => {
                    effects.push(Effect::CancelTool { ticket: *ticket });
                    match self.interrupt {
                        Some(Interrupt::Crashed) => unknown(entry.inspection.class),
                        Some(Interrupt::User | Interrupt::NewMessage | Interrupt::Shutdown)
                        | None => text::INTERRUPTED_RESULT,
                    }
                }
                Stage::Reviewed(_, outcome) => {
                    entry.stage = Stage::Done(outcome.clone());
                    continue;
                }
                Stage::Asked(ticket, _) => {
                    effects.push(Effect::Tell(Notice::PermissionWithdrawn(*ticket)));
                    text::NOT_STARTED_RESULT
                }
                Stage::Received | Stage::Hooked(_) | Stage::Deferred | Stage::Ready(_) => {
                    text::NOT_STARTED_RESULT
                }
            };
            entry.stage = Stage::Done(ToolOutcome::failure(why));
        }
        self.effects.append(&mut effects);
    }

    /// Nothing of a discarded answer may leak: its questions are withdrawn, its calls forgotten.
    pub(crate) fn discard_calls(&mut self) {
        let queue = core::mem::take(&mut self.state.queue);
        for entry in queue.entries {
            if let Stage::Asked(ticket, _) = entry.stage {
                self.tell(Notice::PermissionWithdrawn(ticket));
            }
            self.state.transcript.release_call_id(&entry.call.id);
        }
    }
}

/// What is said of a call whose end nobody saw. It is never run again behind the model's back.
pub(crate) fn unknown(class: EffectClass) -> &'static str {
    match class {
        EffectClass::Pure => text::OUTCOME_UNKNOWN_PURE,
        EffectClass::Idempotent => text::OUTCOME_UNKNOWN_IDEMPOTENT,
        EffectClass::Effect => text::OUTCOME_UNKNOWN,
    }
}
