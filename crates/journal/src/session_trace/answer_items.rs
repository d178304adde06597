//! Converts the deltas of an answer to items: texts, reasoning and calls, as they arrive and when
//! they are complete.

use std::collections::BTreeMap;

use windlass_engine::State;
use windlass_vocabulary::{AttemptId, ContentBlock, Delta, ModelName};

use super::trace_builder::{ANSWER_BYTES_MAX, RESULT_BYTES_MAX, TraceBuilder, call_at, push_item};
use super::{SessionTrace, TraceDetail, TracePlace, TracedCall, TracedText};

impl TraceBuilder {
    pub(super) fn take_delta(
        &mut self,
        trace: &mut SessionTrace,
        place: TracePlace,
        delta: &Delta,
        state: &State,
    ) {
        match delta {
            Delta::Text(text) => self.grow_partial(trace, place, text, false, state),
            Delta::Thinking(text) => self.grow_partial(trace, place, text, true, state),
            Delta::Block(block) => {
                let partial = self.partial.take();
                let model = current_model(trace, &self.attempts, state);
                let detail = match block {
                    ContentBlock::Text(text) => {
                        let text = TracedText::new(text, place.seq, ANSWER_BYTES_MAX);
                        TraceDetail::Answer { text, model }
                    }
                    ContentBlock::Thinking(thinking) if !thinking.text.is_empty() => {
                        let text = TracedText::new(&thinking.text, place.seq, RESULT_BYTES_MAX);
                        TraceDetail::Thinking { text, model }
                    }
                    ContentBlock::Thinking(_)
                    | ContentBlock::ToolUse(_)
                    | ContentBlock::ToolResult(_)
                    | ContentBlock::Media(_)
                    | ContentBlock::Provider(_) => return,
                };
                match partial.and_then(|item| trace.items.get_mut(item)) {
                    Some(item) => {
                        item.detail = detail;
                        item.ended_at = Some(place.at);
                    }
                    None => self.push_answer_item(trace, place, detail),
                }
            }
            Delta::Call { call, inspection } => {
                self.partial = None;
                let traced = TracedCall::new(call, Some(inspection), state, place.seq);
                self.calls.insert(call.id.clone(), trace.items.len());
                self.new_call = Some(trace.items.len());
                self.push_answer_item(trace, place, TraceDetail::Call(Box::new(traced)));
            }
            Delta::CallStarted { .. }
            | Delta::CallInput(_)
            | Delta::Usage(_)
            | Delta::Cleared { .. }
            | Delta::Raw(_) => {}
        }
    }

    /// Two calls of a session may have the same provider id; the engine renames the later one.
    pub(super) fn rename_new_call(&mut self, trace: &mut SessionTrace, state: &State) {
        if let Some(item) = self.new_call.take()
            && let Some(ContentBlock::ToolUse(call)) = state.answer.blocks.last()
            && let Some(traced) = call_at(trace, item)
            && traced.id != call.id
        {
            traced.id = call.id.clone();
            self.calls.insert(call.id.clone(), item);
        }
    }

    /// Updates the incomplete block.
    pub(super) fn grow_partial(
        &mut self,
        trace: &mut SessionTrace,
        place: TracePlace,
        piece: &str,
        is_thinking: bool,
        state: &State,
    ) {
        if let Some(item) = self.partial.and_then(|item| trace.items.get_mut(item))
            && let TraceDetail::Answer { text, .. } | TraceDetail::Thinking { text, .. } =
                &mut item.detail
        {
            text.bytes += piece.len();
            let room = ANSWER_BYTES_MAX.saturating_sub(text.text.len());
            let end = piece.floor_char_boundary(room.min(piece.len()));
            text.text.push_str(piece.get(..end).unwrap_or_default());
            return;
        }
        let model = current_model(trace, &self.attempts, state);
        let text = TracedText::new(piece, place.seq, ANSWER_BYTES_MAX);
        let detail = match is_thinking {
            true => TraceDetail::Thinking { text, model },
            false => TraceDetail::Answer { text, model },
        };
        self.partial = Some(trace.items.len());
        self.push_answer_item(trace, place, detail);
    }

    pub(super) fn push_answer_item(
        &mut self,
        trace: &mut SessionTrace,
        place: TracePlace,
        detail: TraceDetail,
    ) {
        self.answer_items.push(trace.items.len());
        push_item(trace, place, detail);
    }
}

/// The model of the current answer.
fn current_model(
    trace: &SessionTrace,
    attempts: &BTreeMap<AttemptId, usize>,
    state: &State,
) -> ModelName {
    let index = state.answer.attempt.and_then(|attempt| attempts.get(&attempt));
    let request = index.and_then(|index| trace.requests.get(*index));
    request.map_or_else(|| ModelName::from("unknown"), |request| request.model.clone())
}
