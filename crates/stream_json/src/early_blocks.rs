//! Complete blocks of the current answer that are sent before the next one streams.
//!
//! Clients that show an answer as it comes match each finished block with what streamed since the last
//! one, and show again what does not match. So a block comes between its own pieces and those of the
//! next. Only text and reasoning before the first call are sent like this: an attempt that fails is made
//! again, and a call that never ran must not stay behind.

use std::collections::VecDeque;

use windlass_vocabulary::{AttemptId, Delta};

use crate::frame::FrameContent;

#[derive(Debug, Default)]
pub(crate) struct EarlyBlocks {
    attempt: Option<AttemptId>,
    /// Finished, and not sent yet.
    finished: Vec<FrameContent>,
    sent: VecDeque<FrameContent>,
    /// What streamed since the last finished block, where a wire finishes reasoning only at the end.
    thinking: String,
    has_call: bool,
}

impl EarlyBlocks {
    /// Returns the blocks to send before this piece.
    pub(crate) fn on_delta(&mut self, attempt: AttemptId, delta: &Delta) -> Vec<FrameContent> {
        if self.attempt != Some(attempt) {
            *self = Self { attempt: Some(attempt), ..Self::default() };
        }
        match delta {
            Delta::Block(block) if !self.has_call => {
                self.thinking.clear();
                self.finished.extend(FrameContent::from_block(block));
                Vec::new()
            }
            Delta::Thinking(text) if !self.has_call => {
                self.thinking.push_str(text);
                self.take_finished()
            }
            Delta::Text(_) if !self.has_call => {
                if !self.thinking.is_empty() {
                    let thinking = std::mem::take(&mut self.thinking);
                    self.finished
                        .push(FrameContent::Thinking { thinking, signature: String::new() });
                }
                self.take_finished()
            }
            Delta::CallStarted { .. } | Delta::Call { .. } => {
                self.has_call = true;
                Vec::new()
            }
            Delta::Text(_)
            | Delta::Thinking(_)
            | Delta::Block(_)
            | Delta::CallInput(_)
            | Delta::Usage(_)
            | Delta::Cleared { .. }
            | Delta::Raw(_) => Vec::new(),
        }
    }

    fn take_finished(&mut self) -> Vec<FrameContent> {
        let ready = std::mem::take(&mut self.finished);
        self.sent.extend(ready.iter().cloned());
        ready
    }

    /// Whether this block, the next of the finished answer, was sent.
    pub(crate) fn take_sent(&mut self, block: &FrameContent) -> bool {
        let is_sent = self.sent.front() == Some(block);
        if is_sent {
            self.sent.pop_front();
        }
        is_sent
    }
}
