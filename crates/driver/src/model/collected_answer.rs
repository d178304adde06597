//! The text and the usage of an answer that is collected instead of streamed.

use windlass_dialect::DecodedEvent;
use windlass_vocabulary::{ContentBlock, ModelFailure, Usage};

/// What was received so far; it counts even if the answer ends in a failure, because it is billed.
#[derive(Default)]
pub(crate) struct CollectedAnswer {
    pub(crate) text: String,
    pub(crate) usage: Usage,
}

impl CollectedAnswer {
    /// Adds one event. Returns whether the answer is complete.
    pub(crate) fn add(&mut self, event: &DecodedEvent) -> Result<bool, ModelFailure> {
        match event {
            DecodedEvent::Block(ContentBlock::Text(text)) => self.text.push_str(text),
            DecodedEvent::Usage(usage) => self.usage = self.usage.max(usage),
            DecodedEvent::Failed(failure) => return Err(failure.clone()),
            DecodedEvent::Ended { usage, .. } => {
                self.usage = self.usage.max(usage);
                return Ok(true);
            }
            DecodedEvent::Started { .. }
            | DecodedEvent::Text(_)
            | DecodedEvent::Thinking(_)
            | DecodedEvent::CallStarted { .. }
            | DecodedEvent::CallInput(_)
            | DecodedEvent::Block(_)
            | DecodedEvent::Call { .. }
            | DecodedEvent::ToolResultsCleared { .. }
            | DecodedEvent::Ping
            | DecodedEvent::Raw(_) => {}
        }
        Ok(false)
    }
}
