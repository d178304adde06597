//! An answer under way, told piece by piece in the words of the messages wire, whatever wire it came
//! over.
//!
//! A new attempt simply begins a new message: there is no word for taking one back, and the finished
//! frames, which follow, are what counts.

use serde_json::{Value, json};
use windlass_vocabulary::{AttemptId, Block, Delta, Usage};

use super::frame::{Content, FrameUsage};

/// The message being told.
#[derive(Debug, Default)]
pub(crate) struct Partial {
    attempt: Option<AttemptId>,
    /// The place of the next block.
    index: u64,
    /// What kind of block is open.
    open: Option<Kind>,
    /// Something of the open block was told.
    calls: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Call,
}

/// Who speaks.
pub(crate) struct Speaker<'a> {
    /// The message's id.
    pub(crate) id: &'a str,
    /// The model.
    pub(crate) model: &'a str,
}

impl Partial {
    /// A piece arrived.
    pub(crate) fn delta(
        &mut self,
        attempt: AttemptId,
        delta: &Delta,
        speaker: &Speaker<'_>,
    ) -> Vec<Value> {
        let mut events = Vec::new();
        if matches!(delta, Delta::Usage(_) | Delta::Cleared { .. } | Delta::Raw(_)) {
            return events;
        }
        if self.attempt != Some(attempt) {
            *self = Self { attempt: Some(attempt), ..Self::default() };
            events.push(start(speaker));
        }
        match delta {
            Delta::Text(text) => {
                self.begin(Kind::Text, || json!({ "type": "text", "text": "" }), &mut events);
                events.push(self.piece(&json!({ "type": "text_delta", "text": text })));
            }
            Delta::Thinking(text) => {
                let empty = || json!({ "type": "thinking", "thinking": "", "signature": "" });
                self.begin(Kind::Thinking, empty, &mut events);
                events.push(self.piece(&json!({ "type": "thinking_delta", "thinking": text })));
            }
            Delta::CallStarted { id, name } => {
                self.end(&mut events);
                let block = json!({
                    "type": "tool_use", "id": id.as_str(), "name": name.as_str(), "input": {},
                });
                self.begin(Kind::Call, || block, &mut events);
            }
            Delta::CallInput(text) if self.open == Some(Kind::Call) => {
                self.calls = true;
                events
                    .push(self.piece(&json!({ "type": "input_json_delta", "partial_json": text })));
            }
            Delta::Block(block) => self.whole(block, &mut events),
            Delta::Call { call, .. } => {
                if self.open != Some(Kind::Call) {
                    self.end(&mut events);
                    let block = json!({
                        "type": "tool_use", "id": call.id.as_str(), "name": call.name.as_str(),
                        "input": {},
                    });
                    self.begin(Kind::Call, || block, &mut events);
                }
                if !self.calls {
                    let input = call.input.as_str();
                    let piece = json!({ "type": "input_json_delta", "partial_json": input });
                    events.push(self.piece(&piece));
                }
                self.end(&mut events);
            }
            _ => {}
        }
        events
    }

    /// The message is complete.
    pub(crate) fn finished(&mut self, has_calls: bool, usage: Usage) -> Vec<Value> {
        let mut events = Vec::new();
        if self.attempt.take().is_none() {
            return events;
        }
        self.end(&mut events);
        let stop = if has_calls { "tool_use" } else { "end_turn" };
        events.push(json!({
            "type": "message_delta",
            "delta": { "stop_reason": stop, "stop_sequence": null },
            "usage": FrameUsage::from(usage),
        }));
        events.push(json!({ "type": "message_stop" }));
        events
    }

    /// A block is whole: what was not told piece by piece is told now.
    fn whole(&mut self, block: &Block, events: &mut Vec<Value>) {
        match (self.open, block) {
            (Some(Kind::Text), Block::Text(_)) => {}
            (Some(Kind::Thinking), Block::Thinking(thinking)) => {
                let signature = thinking.signature.as_deref().unwrap_or_default();
                let seal = json!({ "type": "signature_delta", "signature": signature });
                events.push(self.piece(&seal));
            }
            (_, block) => {
                self.end(events);
                if let Some(content) = Content::of(block) {
                    events.push(json!({
                        "type": "content_block_start", "index": self.index, "content_block": content,
                    }));
                    self.open = Some(Kind::Text);
                }
            }
        }
        self.end(events);
    }

    fn begin(&mut self, kind: Kind, block: impl FnOnce() -> Value, events: &mut Vec<Value>) {
        if self.open == Some(kind) {
            return;
        }
        self.end(events);
        self.open = Some(kind);
        self.calls = false;
        events.push(json!({
            "type": "content_block_start", "index": self.index, "content_block": block(),
        }));
    }

    fn piece(&self, delta: &Value) -> Value {
        json!({ "type": "content_block_delta", "index": self.index, "delta": delta })
    }

    fn end(&mut self, events: &mut Vec<Value>) {
        if self.open.take().is_some() {
            events.push(json!({ "type": "content_block_stop", "index": self.index }));
            self.index += 1;
        }
    }
}

fn start(speaker: &Speaker<'_>) -> Value {
    json!({
        "type": "message_start",
        "message": {
            "id": speaker.id,
            "type": "message",
            "role": "assistant",
            "model": speaker.model,
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": FrameUsage::default(),
        },
    })
}
