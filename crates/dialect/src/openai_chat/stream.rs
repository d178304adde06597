//! Reads the chunks of one answer. They have no types and no block boundaries: text grows, calls
//! grow by index, and all of it is complete when a finish reason comes. So nothing counts before
//! that, and a cut answer leaves nothing behind.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use windlass_vocabulary::{
    ContentBlock, ModelFailure, ModelStopReason, ThinkingBlock, ToolCall, ToolCallId, ToolName,
    Usage,
};

use super::event::{ChatCallDelta, ChatChoice, ChatChunk, ChatDelta, ChatUsage};
use super::failure;
use crate::DecodedEvent;
use crate::answer_calls::{TRUNCATED_CALL, is_truncated, parse_call_arguments};
use crate::lenient_json::{StreamedText, TextFragment};
use crate::provider_error::parse_provider_error;
use crate::stream_decoder::{DONE_MARKER, DeltaKind, EventInterpreter, StreamFlow};
use crate::stream_failure::{parse_event, protocol_failure};
use crate::stream_progress::{AnswerStop, StreamProgress};

/// The state of one answer.
#[derive(Debug, Default)]
pub(super) struct ChatStreamReader {
    progress: StreamProgress,
    text: StreamedText,
    thinking: StreamedText,
    call_drafts: Vec<ChatCallDraft>,
    is_refused: bool,
}

#[derive(Debug)]
struct ChatCallDraft {
    index: Option<u64>,
    /// As the server gave it; empty if it gave none.
    wire_id: String,
    id: ToolCallId,
    name: ToolName,
    arguments: StreamedText,
}

impl EventInterpreter for ChatStreamReader {
    fn read_event(
        &mut self,
        data: &str,
        out: &mut Vec<DecodedEvent>,
    ) -> Result<StreamFlow, ModelFailure> {
        if data.trim() == DONE_MARKER {
            return self.finish_on_done(out);
        }
        let chunk: ChatChunk<'_> = parse_event(data)?;
        if chunk.has_error() {
            return Err(failure::classify_stream_error(
                &parse_provider_error(data).unwrap_or_default(),
            ));
        }
        self.progress.budget.spend_bytes(data.len())?;
        self.progress.start(chunk.id.as_deref(), chunk.model.as_deref(), out);
        for choice in chunk.choices.into_iter().flatten() {
            if choice.index.unwrap_or(0) == 0 && self.progress.stop.is_none() {
                self.apply_choice(choice, out)?;
            }
        }
        self.update_usage(chunk.usage, out);
        Ok(StreamFlow::Continue)
    }

    fn progress(&mut self) -> &mut StreamProgress {
        &mut self.progress
    }
}

impl ChatStreamReader {
    fn apply_choice(
        &mut self,
        choice: ChatChoice<'_>,
        out: &mut Vec<DecodedEvent>,
    ) -> Result<(), ModelFailure> {
        let ChatDelta { content, refusal, reasoning_content, reasoning, tool_calls } =
            choice.delta.unwrap_or_default();
        for piece in [reasoning_content.or(reasoning)].into_iter().flatten() {
            DeltaKind::Thinking.emit(self.thinking.push(&piece), out);
        }
        for piece in content.into_iter().flat_map(|content| content.0) {
            DeltaKind::Text.emit(self.text.push(&piece), out);
        }
        if let Some(piece) = refusal {
            let words = self.text.push(&piece);
            self.is_refused |= !words.is_empty();
            DeltaKind::Text.emit(words, out);
        }
        for piece in tool_calls.into_iter().flatten() {
            self.apply_call_delta(piece, out)?;
        }
        match choice.finish_reason.as_deref() {
            None | Some("") => Ok(()),
            Some("error") => {
                Err(protocol_failure("the server gave up in the middle of the answer"))
            }
            Some(reason) => {
                self.finish_answer(reason, out);
                Ok(())
            }
        }
    }

    fn apply_call_delta(
        &mut self,
        piece: ChatCallDelta<'_>,
        out: &mut Vec<DecodedEvent>,
    ) -> Result<(), ModelFailure> {
        let function = piece.function.unwrap_or_default();
        let wire_id = piece.id.as_deref().unwrap_or_default();
        let name = function.name.as_deref().unwrap_or_default();
        let known = self
            .call_drafts
            .iter()
            .rposition(|draft| draft.is_target_of(piece.index, wire_id, name));
        let place = match known {
            Some(place) => place,
            None => {
                self.progress.budget.spend_block()?;
                self.begin_call(piece.index, wire_id, name, out);
                self.call_drafts.len().saturating_sub(1)
            }
        };
        let is_last = place + 1 == self.call_drafts.len();
        let Some(draft) = self.call_drafts.get_mut(place) else {
            return Ok(());
        };
        if let Some(json) = function.arguments {
            let words = match serde_json::from_str::<TextFragment<'_>>(json.get()) {
                Ok(piece) => draft.arguments.push(&piece),
                // Some servers send the object itself, whole.
                Err(_) if json.get() != "null" => draft.arguments.push_str(json.get()),
                Err(_) => "",
            };
            if is_last {
                DeltaKind::CallInput.emit(words, out);
            }
        }
        Ok(())
    }

    fn begin_call(
        &mut self,
        index: Option<u64>,
        wire_id: &str,
        name: &str,
        out: &mut Vec<DecodedEvent>,
    ) {
        let number = u64::try_from(self.call_drafts.len()).unwrap_or(u64::MAX);
        let id = match wire_id {
            "" => ToolCallId::from(self.progress.calls.derive_call_id(number).as_str()),
            id => ToolCallId::from(id),
        };
        let name = ToolName::from(name);
        out.push(DecodedEvent::CallStarted { id: id.clone(), name: name.clone() });
        self.call_drafts.push(ChatCallDraft {
            index,
            wire_id: String::from(wire_id),
            id,
            name,
            arguments: StreamedText::default(),
        });
    }

    fn finish_answer(&mut self, reason: &str, out: &mut Vec<DecodedEvent>) {
        let stop = self.parse_finish_reason(reason);
        let thinking = mem::take(&mut self.thinking);
        if !thinking.is_empty() {
            let thinking = ThinkingBlock { text: thinking.into_text(), signature: None };
            out.push(DecodedEvent::Block(ContentBlock::Thinking(thinking)));
        }
        let text = mem::take(&mut self.text);
        if !text.is_empty() {
            out.push(DecodedEvent::Block(ContentBlock::Text(text.into_text())));
        }
        for draft in mem::take(&mut self.call_drafts) {
            let words = draft.arguments.into_text();
            let is_cut = is_truncated(stop.reason) && words.trim().is_empty();
            let (input, problem) = parse_call_arguments(&words);
            let call = ToolCall { id: draft.id, name: draft.name, input, signature: None };
            let problem = if is_cut { Some(String::from(TRUNCATED_CALL)) } else { problem };
            out.push(self.progress.calls.complete_call(call, problem));
        }
        self.progress.stop = Some(stop);
    }

    fn parse_finish_reason(&self, reason: &str) -> AnswerStop {
        match reason {
            "length" => AnswerStop::new(ModelStopReason::OutputLimit),
            "model_length" => AnswerStop::new(ModelStopReason::WindowFull),
            "content_filter" => AnswerStop::new(ModelStopReason::Refusal),
            _ if self.is_refused => AnswerStop::new(ModelStopReason::Refusal),
            "stop" | "tool_calls" | "function_call" => AnswerStop::new(ModelStopReason::EndTurn),
            other => {
                let detail = format!("finish reason {}", crate::json_writer::first_line(other));
                AnswerStop::with_detail(ModelStopReason::EndTurn, detail)
            }
        }
    }

    /// Some servers never give a reason, but all say when they are done.
    fn finish_on_done(&mut self, out: &mut Vec<DecodedEvent>) -> Result<StreamFlow, ModelFailure> {
        if !self.progress.is_started {
            return Err(protocol_failure("the answer ended before it began"));
        }
        if self.progress.stop.is_none() {
            self.finish_answer("stop", out);
        }
        out.push(self.progress.finish());
        Ok(StreamFlow::Finished)
    }

    fn update_usage(&mut self, usage: Option<ChatUsage>, out: &mut Vec<DecodedEvent>) {
        let Some(usage) = usage else { return };
        let details = usage.prompt_tokens_details.unwrap_or_default();
        let hit = usage.prompt_cache_hit_tokens.tokens();
        let read = details.cached_tokens.tokens().max(hit);
        let written = details.cache_write_tokens.tokens();
        let usage = Usage {
            input: usage.prompt_tokens.tokens().less(read).less(written),
            output: usage.completion_tokens.tokens(),
            cache_write: written,
            cache_read: read,
        };
        self.progress.update_usage(usage, out);
    }
}

impl ChatCallDraft {
    /// Is a piece meant for this call? Servers name calls by index, by id, by both, or by neither;
    /// some give every call the index zero, some repeat the id and the name in every piece.
    fn is_target_of(&self, index: Option<u64>, wire_id: &str, name: &str) -> bool {
        let same_id = wire_id.is_empty() || wire_id == self.wire_id;
        match (index, self.index) {
            (Some(index), Some(own)) => index == own && same_id,
            _ if !wire_id.is_empty() => wire_id == self.wire_id,
            _ => name.is_empty(),
        }
    }
}
