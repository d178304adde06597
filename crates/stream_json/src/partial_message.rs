//! The deltas of an answer, in terms of the messages wire, whatever wire was used.
//!
//! A new attempt simply starts a new message: the protocol cannot retract one, and the complete
//! frames, which follow, are authoritative. Some wires finish their blocks only at the end of the
//! answer: a block that was streamed is not sent again then.

use serde_json::{Value, json};
use windlass_vocabulary::{AttemptId, ContentBlock, Delta, ToolCallId, Usage};

use crate::frame::{FrameContent, FrameUsage};

#[derive(Debug, Default)]
pub(crate) struct PartialMessage {
    attempt: Option<AttemptId>,
    /// Of the next block.
    index: u64,
    open_block: Option<PartialBlock>,
    /// Input of the open call was sent.
    has_call_input: bool,
    /// Blocks that streamed before another one began, and are yet to be finished.
    unfinished: Vec<PartialBlock>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum PartialBlock {
    Text,
    Thinking,
    Call(ToolCallId),
}

pub(crate) struct PartialMessageAuthor<'a> {
    pub id: &'a str,
    pub model: &'a str,
}

impl PartialMessage {
    pub(crate) fn delta_to_events(
        &mut self,
        attempt: AttemptId,
        delta: &Delta,
        author: &PartialMessageAuthor<'_>,
    ) -> Vec<Value> {
        let mut events = Vec::new();
        if matches!(delta, Delta::Usage(_) | Delta::Cleared { .. } | Delta::Raw(_)) {
            return events;
        }
        if self.attempt != Some(attempt) {
            *self = Self { attempt: Some(attempt), ..Self::default() };
            events.push(build_message_start(author));
        }
        match delta {
            Delta::Text(text) => {
                let empty = || json!({ "type": "text", "text": "" });
                self.start_block(PartialBlock::Text, empty, &mut events);
                events.push(self.build_block_delta(&json!({ "type": "text_delta", "text": text })));
            }
            Delta::Thinking(text) => {
                let empty = || json!({ "type": "thinking", "thinking": "", "signature": "" });
                self.start_block(PartialBlock::Thinking, empty, &mut events);
                events.push(
                    self.build_block_delta(&json!({ "type": "thinking_delta", "thinking": text })),
                );
            }
            Delta::CallStarted { id, name } => {
                self.start_call(id, name.as_str(), &mut events);
            }
            Delta::CallInput(text) if matches!(self.open_block, Some(PartialBlock::Call(_))) => {
                self.has_call_input = true;
                events.push(self.build_block_delta(
                    &json!({ "type": "input_json_delta", "partial_json": text }),
                ));
            }
            Delta::Block(block) => self.complete_block(block, &mut events),
            Delta::Call { call, .. } => {
                if self.take_unfinished(&PartialBlock::Call(call.id.clone())) {
                    return events;
                }
                self.start_call(&call.id, call.name.as_str(), &mut events);
                if !self.has_call_input {
                    let input = call.input.as_str();
                    let piece = json!({ "type": "input_json_delta", "partial_json": input });
                    events.push(self.build_block_delta(&piece));
                }
                self.close_block(&mut events);
            }
            // Of no block that is open, or handled above.
            Delta::CallInput(_) | Delta::Usage(_) | Delta::Cleared { .. } | Delta::Raw(_) => {}
        }
        events
    }

    pub(crate) fn finish(&mut self, has_calls: bool, usage: Usage) -> Vec<Value> {
        let mut events = Vec::new();
        if self.attempt.take().is_none() {
            return events;
        }
        self.close_block(&mut events);
        let stop = if has_calls { "tool_use" } else { "end_turn" };
        events.push(json!({
            "type": "message_delta",
            "delta": { "stop_reason": stop, "stop_sequence": null },
            "usage": FrameUsage::from(usage),
        }));
        events.push(json!({ "type": "message_stop" }));
        events
    }

    /// A block is complete: sends the part that was not streamed.
    fn complete_block(&mut self, block: &ContentBlock, events: &mut Vec<Value>) {
        let streamed = match block {
            ContentBlock::Text(_) => Some(PartialBlock::Text),
            ContentBlock::Thinking(_) => Some(PartialBlock::Thinking),
            ContentBlock::ToolUse(_)
            | ContentBlock::ToolResult(_)
            | ContentBlock::Media(_)
            | ContentBlock::Provider(_) => None,
        };
        if streamed.is_none() || self.open_block != streamed {
            if streamed.is_some_and(|streamed| self.take_unfinished(&streamed)) {
                return;
            }
            self.close_block(events);
            if let Some(content) = FrameContent::from_block(block) {
                events.push(json!({
                    "type": "content_block_start", "index": self.index, "content_block": content,
                }));
                self.open_block = Some(PartialBlock::Text);
            }
        } else if let ContentBlock::Thinking(thinking) = block {
            let signature = thinking.signature.as_deref().unwrap_or_default();
            let seal = json!({ "type": "signature_delta", "signature": signature });
            events.push(self.build_block_delta(&seal));
        }
        self.close_block(events);
    }

    fn take_unfinished(&mut self, block: &PartialBlock) -> bool {
        let found = self.unfinished.iter().position(|unfinished| unfinished == block);
        found.map(|index| self.unfinished.remove(index)).is_some()
    }

    fn start_call(&mut self, id: &ToolCallId, name: &str, events: &mut Vec<Value>) {
        let block = || json!({ "type": "tool_use", "id": id.as_str(), "name": name, "input": {} });
        self.start_block(PartialBlock::Call(id.clone()), block, events);
    }

    /// Opens a block, unless it is open.
    fn start_block(
        &mut self,
        block: PartialBlock,
        build_content: impl FnOnce() -> Value,
        events: &mut Vec<Value>,
    ) {
        if self.open_block.as_ref() == Some(&block) {
            return;
        }
        self.unfinished.extend(self.open_block.clone());
        self.close_block(events);
        self.open_block = Some(block);
        self.has_call_input = false;
        events.push(json!({
            "type": "content_block_start", "index": self.index, "content_block": build_content(),
        }));
    }

    fn build_block_delta(&self, delta: &Value) -> Value {
        json!({ "type": "content_block_delta", "index": self.index, "delta": delta })
    }

    fn close_block(&mut self, events: &mut Vec<Value>) {
        if self.open_block.take().is_some() {
            events.push(json!({ "type": "content_block_stop", "index": self.index }));
            self.index += 1;
        }
    }
}

fn build_message_start(author: &PartialMessageAuthor<'_>) -> Value {
    json!({
        "type": "message_start",
        "message": {
            "id": author.id,
            "type": "message",
            "role": "assistant",
            "model": author.model,
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": FrameUsage::default(),
        },
    })
}
