//! Converts an imported conversation to items.

use windlass_engine::State;
use windlass_vocabulary::{ContentBlock, Message, ModelName, Role};

use super::call_trace::split_parts;
use super::trace_builder::{ANSWER_BYTES_MAX, TraceBuilder, call_at, push_item};
use super::{SessionTrace, TraceDetail, TracePlace, TracedCall, TracedResult, TracedText};

impl TraceBuilder {
    pub(super) fn adopt_messages(
        &mut self,
        trace: &mut SessionTrace,
        place: TracePlace,
        messages: &[Message],
        state: &State,
    ) {
        for message in messages {
            for block in &message.content {
                let model = message.model.clone().unwrap_or_else(|| ModelName::from("unknown"));
                let detail = match (block, message.role) {
                    (ContentBlock::Text(text), Role::User) => {
                        let text = TracedText::new(text, place.seq, ANSWER_BYTES_MAX);
                        TraceDetail::Prompt { text, media: Vec::new(), is_queued: false, by: None }
                    }
                    (ContentBlock::Text(text), Role::Assistant) => {
                        let text = TracedText::new(text, place.seq, ANSWER_BYTES_MAX);
                        TraceDetail::Answer { text, model }
                    }
                    (ContentBlock::ToolUse(call), _) => {
                        self.calls.insert(call.id.clone(), trace.items.len());
                        let traced = TracedCall::new(call, None, state, place.seq);
                        TraceDetail::Call(Box::new(traced))
                    }
                    (ContentBlock::ToolResult(result), _) => {
                        let item = self.calls.get(&result.call).copied();
                        if let Some(call) = item.and_then(|item| call_at(trace, item)) {
                            let (text, media) = split_parts(&result.content, place.seq);
                            let at = place.at;
                            let is_error = result.is_error;
                            call.result =
                                Some(TracedResult { at, text, media, is_error, took_millis: 0 });
                        }
                        continue;
                    }
                    (
                        ContentBlock::Thinking(_)
                        | ContentBlock::Media(_)
                        | ContentBlock::Provider(_),
                        _,
                    ) => continue,
                };
                push_item(trace, place, detail);
            }
        }
    }
}
