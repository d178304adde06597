//! Every request holds every pinned message and the last request of the user, word for word.
//! Media may be gone: a provider that refuses them is not sent them again.

use std::sync::Arc;

use windlass_engine::Effect;
use windlass_engine::state::ToolContext;
use windlass_vocabulary::{AttachmentKind, ContentBlock, Message, MessageOrigin};

use super::StepView;

#[derive(Debug, Default)]
pub(super) struct PinnedMessageChecker {
    pinned: Vec<Arc<Message>>,
    last: Option<Arc<Message>>,
    seen: usize,
}

impl PinnedMessageChecker {
    pub(super) fn check(&mut self, view: &StepView<'_>) -> Result<(), String> {
        let entries = view.state.transcript.entries();
        for entry in entries.iter().skip(self.seen) {
            let message = &entry.message;
            if message.origin == MessageOrigin::Summary {
                check_carried_over(&view.state.tool_context, message)?;
            }
            if message.pinned {
                self.pinned.push(message.clone());
            }
            let queued = MessageOrigin::Attachment(AttachmentKind::QueuedInput);
            if message.origin == MessageOrigin::User || message.origin == queued {
                self.last = Some(message.clone());
            }
        }
        self.seen = entries.len();
        for effect in view.effects {
            if let Effect::CallModel(request) = effect {
                for kept in self.pinned.iter().chain(&self.last) {
                    if !request.messages.iter().any(|sent| is_same_message(sent, kept)) {
                        return Err(format!("{} does not hold {}", request.attempt, kept.id));
                    }
                }
            }
        }
        Ok(())
    }
}

/// A compaction carries the task list and the working directory over, word for word.
fn check_carried_over(context: &ToolContext, summary: &Message) -> Result<(), String> {
    let words = summary.text();
    for kept in context.tasks.iter().chain(&context.working_directory) {
        if !words.contains(&**kept) {
            return Err(format!("the summary {} lost {kept:?}", summary.id));
        }
    }
    Ok(())
}

fn is_same_message(sent: &Arc<Message>, kept: &Arc<Message>) -> bool {
    let words = |message: &Message| -> Vec<String> {
        let texts = message.content.iter().filter_map(|block| {
            let ContentBlock::Text(text) = block else { return None };
            Some(text.clone())
        });
        texts.take(1).collect()
    };
    Arc::ptr_eq(sent, kept) || (sent.id == kept.id && words(sent) == words(kept))
}
