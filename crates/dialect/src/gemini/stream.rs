//! Reads the fragments of one answer. Text grows until something else comes; calls are whole; a
//! finish reason makes an answer of it. Unknown parts are kept verbatim.

use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;

use windlass_vocabulary::{
    ContentBlock, ModelFailure, ModelStopReason, ThinkingBlock, ToolCall, ToolCallId, ToolName,
    Usage,
};

use super::event::{
    GeminiCandidate, GeminiChunk, GeminiFunctionCall, GeminiPart, GeminiPromptFeedback, GeminiUsage,
};
use super::failure;
use crate::DecodedEvent;
use crate::answer_calls::parse_call_arguments;
use crate::json_writer::{self, first_line};
use crate::lenient_json::StreamedText;
use crate::provider_rules;
use crate::stream_decoder::{DeltaKind, EventInterpreter, StreamFlow};
use crate::stream_failure::{parse_event, protocol_failure};
use crate::stream_progress::{AnswerStop, StreamProgress};

/// The state of one answer.
#[derive(Debug, Default)]
pub(super) struct GeminiStreamReader {
    progress: StreamProgress,
    text: StreamedText,
    thinking: StreamedText,
    call_count: u64,
}

impl EventInterpreter for GeminiStreamReader {
    fn read_event(
        &mut self,
        data: &str,
        out: &mut Vec<DecodedEvent>,
    ) -> Result<StreamFlow, ModelFailure> {
        let chunk: GeminiChunk<'_> = parse_event(data)?;
        if chunk.has_error() {
            return Err(failure::classify_stream_error(data));
        }
        self.progress.budget.spend_bytes(data.len())?;
        self.progress.start(chunk.response_id.as_deref(), chunk.model_version.as_deref(), out);
        let has_usage = chunk.usage_metadata.is_some();
        self.update_usage(chunk.usage_metadata, out);
        for candidate in chunk.candidates.into_iter().flatten() {
            if candidate.index.unwrap_or(0) == 0 && self.progress.stop.is_none() {
                self.apply_candidate(candidate, out)?;
            }
        }
        if let Some(GeminiPromptFeedback { block_reason: Some(reason), block_reason_message }) =
            chunk.prompt_feedback
        {
            let text = block_reason_message.unwrap_or(reason);
            self.progress.stop =
                Some(AnswerStop::with_detail(ModelStopReason::Refusal, first_line(&text)));
        }
        // There is no end marker: the stop reason and the usage are the last things a server sends.
        if self.progress.stop.is_some() && has_usage {
            out.push(self.progress.finish());
            return Ok(StreamFlow::Finished);
        }
        Ok(StreamFlow::Continue)
    }

    fn progress(&mut self) -> &mut StreamProgress {
        &mut self.progress
    }
}

impl GeminiStreamReader {
    fn apply_candidate(
        &mut self,
        candidate: GeminiCandidate<'_>,
        out: &mut Vec<DecodedEvent>,
    ) -> Result<(), ModelFailure> {
        for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
            self.apply_part(part.get(), out)?;
        }
        let Some(reason) = candidate.finish_reason.filter(|reason| !reason.is_empty()) else {
            return Ok(());
        };
        let text = candidate.finish_message.map(|message| first_line(&message));
        let stop = match &*reason {
            "STOP" => AnswerStop::new(ModelStopReason::EndTurn),
            "MAX_TOKENS" => AnswerStop::new(ModelStopReason::OutputLimit),
            "CONTINUATION" => AnswerStop::new(ModelStopReason::Pause),
            "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
            | "IMAGE_SAFETY" => {
                let detail = text.unwrap_or_else(|| reason.into_owned());
                AnswerStop::with_detail(ModelStopReason::Refusal, detail)
            }
            "MALFORMED_FUNCTION_CALL"
            | "UNEXPECTED_TOOL_CALL"
            | "TOO_MANY_TOOL_CALLS"
            | "MALFORMED_RESPONSE" => {
                let text = text.unwrap_or_else(|| reason.into_owned());
                return Err(protocol_failure(format!("the model's output cannot be read: {text}")));
            }
            other => {
                let detail = format!("finish reason {}", first_line(other));
                AnswerStop::with_detail(ModelStopReason::EndTurn, detail)
            }
        };
        self.close_thinking(out);
        self.close_text(out);
        self.progress.stop = Some(stop);
        Ok(())
    }

    fn apply_part(&mut self, json: &str, out: &mut Vec<DecodedEvent>) -> Result<(), ModelFailure> {
        let GeminiPart { text, thought, thought_signature, function_call } = parse_event(json)?;
        let seal = thought_signature.filter(|seal| !seal.is_empty());
        match (text, function_call) {
            (_, Some(call)) => {
                self.close_thinking(out);
                self.close_text(out);
                self.progress.budget.spend_block()?;
                self.finish_call(&call, seal.as_deref(), out);
            }
            (Some(piece), None) if thought == Some(true) => {
                self.close_text(out);
                DeltaKind::Thinking.emit(self.thinking.push(&piece), out);
            }
            (Some(piece), None) => {
                self.close_thinking(out);
                DeltaKind::Text.emit(self.text.push(&piece), out);
                if let Some(seal) = seal {
                    self.close_text(out);
                    self.progress.budget.spend_block()?;
                    out.push(DecodedEvent::Block(build_sealed_part(&seal)));
                }
            }
            (None, None) => {
                self.close_thinking(out);
                self.close_text(out);
                self.progress.budget.spend_block()?;
                out.push(DecodedEvent::Block(build_unknown_part(json)));
            }
        }
        Ok(())
    }

    fn finish_call(
        &mut self,
        call: &GeminiFunctionCall<'_>,
        seal: Option<&str>,
        out: &mut Vec<DecodedEvent>,
    ) {
        let id = match call.id.as_deref().unwrap_or_default() {
            "" => {
                let derived = self.progress.calls.derive_call_id(self.call_count);
                ToolCallId::from(derived.as_str())
            }
            id => ToolCallId::from(id),
        };
        self.call_count = self.call_count.saturating_add(1);
        let name = ToolName::from(call.name.as_deref().unwrap_or_default());
        let text = call.args.map_or("", |args| args.get());
        let text = if text == "null" { "" } else { text };
        out.push(DecodedEvent::CallStarted { id: id.clone(), name: name.clone() });
        DeltaKind::CallInput.emit(text, out);
        let (input, problem) = parse_call_arguments(text);
        let call = ToolCall { id, name, input, signature: seal.map(Arc::from) };
        out.push(self.progress.calls.complete_call(call, problem));
    }

    fn close_text(&mut self, out: &mut Vec<DecodedEvent>) {
        let text = mem::take(&mut self.text);
        if !text.is_empty() {
            out.push(DecodedEvent::Block(ContentBlock::Text(text.into_text())));
        }
    }

    /// Summaries of reasoning are for people; what the model needs back is in the seals.
    fn close_thinking(&mut self, out: &mut Vec<DecodedEvent>) {
        let thinking = mem::take(&mut self.thinking);
        if !thinking.is_empty() {
            let thinking = ThinkingBlock { text: thinking.into_text(), signature: None };
            out.push(DecodedEvent::Block(ContentBlock::Thinking(thinking)));
        }
    }

    fn update_usage(&mut self, usage: Option<GeminiUsage>, out: &mut Vec<DecodedEvent>) {
        if let Some(usage) = usage {
            self.progress.update_usage(to_usage(usage), out);
        }
    }
}

fn to_usage(usage: GeminiUsage) -> Usage {
    let cached = usage.cached_content_token_count.tokens();
    let prompt = usage.prompt_token_count.tokens() + usage.tool_use_prompt_token_count.tokens();
    Usage {
        input: prompt.less(cached),
        output: usage.candidates_token_count.tokens() + usage.thoughts_token_count.tokens(),
        cache_write: windlass_vocabulary::Tokens(0),
        cache_read: cached,
    }
}

/// A seal on text goes back on an empty part behind it, which is how the server itself sends seals
/// that come late.
fn build_sealed_part(seal: &str) -> ContentBlock {
    let mut json = Vec::from(*b"{\"text\":\"\",");
    json_writer::append_field(&mut json, "thoughtSignature", seal);
    json.push(b'}');
    build_provider_block("sealed_part", &String::from_utf8(json).unwrap_or_default())
}

fn build_unknown_part(json: &str) -> ContentBlock {
    build_provider_block("part", json)
}

fn build_provider_block(kind: &str, json: &str) -> ContentBlock {
    ContentBlock::Provider(provider_rules::GEMINI.build_provider_block(kind, json))
}
