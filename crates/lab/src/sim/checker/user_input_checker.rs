//! Nothing a person sent is lost, doubled or put out of order: what is in the transcript, followed
//! by what is queued, is what was sent. The transcript only grows, and nothing in it changes.

use std::sync::Arc;

use windlass_engine::Event;
use windlass_vocabulary::{AttachmentKind, ContentBlock, Message, MessageOrigin};

use super::StepView;

#[derive(Debug, Default)]
pub(super) struct UserInputChecker {
    sent: Vec<Vec<ContentBlock>>,
    taken: usize,
    seen: Vec<Arc<Message>>,
}

impl UserInputChecker {
    pub(super) fn check(&mut self, view: &StepView<'_>) -> Result<(), String> {
        if let Event::UserSubmitted { content, .. } = view.event {
            self.sent.push(content.clone());
        }
        self.check_growth(view)?;
        let queued = view.state.inbox.queued.iter().map(|submission| &submission.content);
        let left = self.sent.get(self.taken..).unwrap_or(&[]);
        match left.iter().eq(queued) {
            true => Ok(()),
            false => Err(format!(
                "{} messages sent, {} taken, {} queued, or not in order",
                self.sent.len(),
                self.taken,
                view.state.inbox.queued.len()
            )),
        }
    }

    fn check_growth(&mut self, view: &StepView<'_>) -> Result<(), String> {
        let entries = view.state.transcript.entries();
        if entries.len() < self.seen.len() {
            return Err("the transcript shrank".to_owned());
        }
        for (old, new) in self.seen.iter().zip(entries) {
            if !Arc::ptr_eq(old, &new.message) && **old != *new.message {
                return Err(format!("message {} changed", old.id));
            }
        }
        for entry in entries.iter().skip(self.seen.len()) {
            let message = &entry.message;
            if message.id.0 != self.seen.len() as u64 {
                return Err(format!("message {} is not where it should be", message.id));
            }
            if is_input(message) {
                if self.sent.get(self.taken) != Some(&message.content) {
                    return Err(format!("message {} was not the next one sent", message.id));
                }
                self.taken += 1;
            }
            self.seen.push(message.clone());
        }
        Ok(())
    }
}

fn is_input(message: &Message) -> bool {
    matches!(
        message.origin,
        MessageOrigin::User | MessageOrigin::Attachment(AttachmentKind::QueuedInput)
    )
}
