//! Reads the events of one answer: `message_start`, blocks one after another, `message_delta`,
//! `message_stop`.
//!
//! A block counts when it is closed; what is open when the stream is cut never appears. Unknown
//! events and deltas are skipped, unknown blocks are kept verbatim. Anything out of order
//! voids the answer: half an answer is worse than none. What to do about it is the engine's.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use windlass_vocabulary::{ModelFailure, ModelStopReason, Tokens, ToolCall, Usage};

use super::block_draft::{AnthropicBlockDraft, FinishedAnthropicBlock, InitialBlockContent};
use super::event::{
    AnthropicBlockDelta, AnthropicBlockStart, AnthropicBlockStop, AnthropicDelta,
    AnthropicEventHead, AnthropicMessageChange, AnthropicMessageDelta, AnthropicMessageHead,
    AnthropicMessageStart, AnthropicStopDetails, AnthropicUsage,
};
use super::failure;
use crate::DecodedEvent;
use crate::answer_calls::{TRUNCATED_CALL, is_truncated};
use crate::stream_decoder::{DeltaKind, EventInterpreter, StreamFlow};
use crate::stream_failure::{malformed_event_failure, parse_event, protocol_failure};
use crate::stream_progress::{AnswerStop, StreamProgress};

/// The state of one answer.
#[derive(Debug, Default)]
pub(super) struct AnthropicStreamReader {
    progress: StreamProgress,
    open_block: Option<(u64, AnthropicBlockDraft)>,
    index_last: Option<u64>,
    /// A call without arguments, until it is sure that it was not merely cut short.
    bare_call: Option<ToolCall>,
}

impl EventInterpreter for AnthropicStreamReader {
    fn read_event(
        &mut self,
        data: &str,
        out: &mut Vec<DecodedEvent>,
    ) -> Result<StreamFlow, ModelFailure> {
        let AnthropicEventHead { kind } = parse_event(data)?;
        match &*kind {
            "message_start" => self.start_message(parse_event(data)?, out)?,
            "content_block_start" => self.open_block(data, out)?,
            "content_block_delta" => self.grow_block(data, out)?,
            "content_block_stop" => self.close_block(&parse_event(data)?, out)?,
            "message_delta" => self.apply_message_delta(parse_event(data)?, out)?,
            "message_stop" => return self.stop_message(out),
            "ping" => out.push(DecodedEvent::Ping),
            "error" => return Err(failure::classify_stream_error(data)),
            _ => {}
        }
        Ok(StreamFlow::Continue)
    }

    fn progress(&mut self) -> &mut StreamProgress {
        &mut self.progress
    }
}

impl AnthropicStreamReader {
    fn start_message(
        &mut self,
        event: AnthropicMessageStart<'_>,
        out: &mut Vec<DecodedEvent>,
    ) -> Result<(), ModelFailure> {
        let AnthropicMessageHead { id, model, usage } = event.message.unwrap_or_default();
        if !self.progress.start(id.as_deref(), model.as_deref(), out) {
            return Err(protocol_failure("a second answer began in the same stream"));
        }
        self.update_usage(usage, out);
        Ok(())
    }

    fn open_block(&mut self, data: &str, out: &mut Vec<DecodedEvent>) -> Result<(), ModelFailure> {
        let AnthropicBlockStart { index, content_block } = parse_event(data)?;
        self.expect_content()?;
        if self.open_block.is_some() {
            return Err(protocol_failure("a block began before the one before it was closed"));
        }
        if self.index_last.is_some_and(|last| index <= last) {
            return Err(protocol_failure(format!("block {index} came twice or out of order")));
        }
        self.progress.budget.spend_block()?;
        self.progress.budget.spend_bytes(data.len())?;
        // The model went on, so the call before was complete.
        self.settle_bare_call(ModelStopReason::EndTurn, out);
        let id_if_missing = self.progress.calls.derive_call_id(index);
        let (draft, started) = AnthropicBlockDraft::begin(content_block.get(), &id_if_missing)
            .map_err(|error| malformed_event_failure(&error))?;
        match started {
            InitialBlockContent::Nothing => {}
            InitialBlockContent::Text(text) => out.push(DecodedEvent::Text(text)),
            InitialBlockContent::Thinking(text) => out.push(DecodedEvent::Thinking(text)),
            InitialBlockContent::Call { id, name } => {
                out.push(DecodedEvent::CallStarted { id, name });
            }
        }
        self.open_block = Some((index, draft));
        self.index_last = Some(index);
        Ok(())
    }

    fn grow_block(&mut self, data: &str, out: &mut Vec<DecodedEvent>) -> Result<(), ModelFailure> {
        let AnthropicBlockDelta { index, delta } = parse_event(data)?;
        self.expect_content()?;
        self.progress.budget.spend_bytes(data.len())?;
        let draft = match &mut self.open_block {
            Some((open, draft)) if *open == index => draft,
            _ => {
                return Err(protocol_failure(format!(
                    "a piece came for block {index}, which is not open"
                )));
            }
        };
        let AnthropicEventHead { kind } = parse_event(delta.get())?;
        let part: AnthropicDelta<'_> = match &*kind {
            "text_delta" | "thinking_delta" | "input_json_delta" | "signature_delta" => {
                parse_event(delta.get())?
            }
            _ => AnthropicDelta::default(),
        };
        match (draft, part) {
            (AnthropicBlockDraft::Text(text), AnthropicDelta { text: Some(piece), .. }) => {
                DeltaKind::Text.emit(text.push(&piece), out);
            }
            (
                AnthropicBlockDraft::Thinking { text, .. },
                AnthropicDelta { thinking: Some(piece), .. },
            ) => {
                DeltaKind::Thinking.emit(text.push(&piece), out);
            }
            (
                AnthropicBlockDraft::Thinking { signature, .. },
                AnthropicDelta { signature: Some(seal), .. },
            ) => {
                *signature = Some(seal.into_owned());
            }
            (AnthropicBlockDraft::Call(call), AnthropicDelta { partial_json: Some(piece), .. }) => {
                DeltaKind::CallInput.emit(call.arguments.push(&piece), out);
            }
            (AnthropicBlockDraft::Provider(block), _) => {
                block.apply_delta(delta.get()).map_err(|error| malformed_event_failure(&error))?;
            }
            // A delta of a kind that the block cannot take.
            (
                AnthropicBlockDraft::Text(_)
                | AnthropicBlockDraft::Thinking { .. }
                | AnthropicBlockDraft::Call(_),
                _,
            ) => {}
        }
        Ok(())
    }

    fn close_block(
        &mut self,
        event: &AnthropicBlockStop,
        out: &mut Vec<DecodedEvent>,
    ) -> Result<(), ModelFailure> {
        let draft = match self.open_block.take() {
            Some((index, draft)) if index == event.index => draft,
            _ => {
                return Err(protocol_failure(format!(
                    "block {} ended, which is not open",
                    event.index
                )));
            }
        };
        match draft.finish() {
            FinishedAnthropicBlock::Nothing => {}
            FinishedAnthropicBlock::Block(block) => out.push(DecodedEvent::Block(block)),
            FinishedAnthropicBlock::Call { call, problem } => {
                out.push(self.progress.calls.complete_call(call, problem));
            }
            FinishedAnthropicBlock::BareCall(call) => self.bare_call = Some(call),
        }
        Ok(())
    }

    fn apply_message_delta(
        &mut self,
        event: AnthropicMessageDelta<'_>,
        out: &mut Vec<DecodedEvent>,
    ) -> Result<(), ModelFailure> {
        if !self.progress.is_started {
            return Err(protocol_failure("the answer ended before it began"));
        }
        let AnthropicMessageChange { stop_reason, stop_details } = event.delta.unwrap_or_default();
        if let Some(reason) = stop_reason {
            if self.open_block.is_some() {
                return Err(protocol_failure("the answer ended inside a block"));
            }
            let stop = parse_stop_reason(&reason);
            self.settle_bare_call(stop, out);
            let detail = describe_stop(&reason, stop_details);
            self.progress.stop = Some(AnswerStop { reason: stop, detail });
        }
        let edits = event.context_management.unwrap_or_default().applied_edits;
        for edit in edits.iter().filter(|edit| edit.cleared_tool_uses.tokens() > Tokens(0)) {
            let results = edit.cleared_tool_uses.tokens().0;
            let tokens = edit.cleared_input_tokens.tokens();
            out.push(DecodedEvent::ToolResultsCleared { results, tokens });
        }
        self.update_usage(event.usage, out);
        Ok(())
    }

    fn stop_message(&mut self, out: &mut Vec<DecodedEvent>) -> Result<StreamFlow, ModelFailure> {
        if !self.progress.is_started || self.open_block.is_some() {
            return Err(protocol_failure("the answer ended inside a block, or before it began"));
        }
        let stop =
            self.progress.stop.get_or_insert(AnswerStop::new(ModelStopReason::EndTurn)).reason;
        self.settle_bare_call(stop, out);
        out.push(self.progress.finish());
        Ok(StreamFlow::Finished)
    }

    fn expect_content(&self) -> Result<(), ModelFailure> {
        if self.progress.is_started && self.progress.stop.is_none() {
            return Ok(());
        }
        Err(protocol_failure("a block came before the answer began or after it ended"))
    }

    fn update_usage(&mut self, usage: Option<AnthropicUsage>, out: &mut Vec<DecodedEvent>) {
        let Some(usage) = usage else { return };
        // Later events repeat some of the counts and leave others out, so the largest counts.
        let usage = self.progress.usage.max(&Usage {
            input: usage.input_tokens.tokens(),
            output: usage.output_tokens.tokens(),
            cache_write: usage.cache_creation_input_tokens.tokens(),
            cache_read: usage.cache_read_input_tokens.tokens(),
        });
        self.progress.update_usage(usage, out);
    }

    /// The stop reason decides about a call without arguments: cut short, or complete.
    fn settle_bare_call(&mut self, stop: ModelStopReason, out: &mut Vec<DecodedEvent>) {
        if let Some(call) = self.bare_call.take() {
            let problem = is_truncated(stop).then(|| String::from(TRUNCATED_CALL));
            out.push(self.progress.calls.complete_call(call, problem));
        }
    }
}

fn parse_stop_reason(reason: &str) -> ModelStopReason {
    match reason {
        "max_tokens" => ModelStopReason::OutputLimit,
        "model_context_window_exceeded" => ModelStopReason::WindowFull,
        "pause_turn" | "compaction" => ModelStopReason::Pause,
        "refusal" => ModelStopReason::Refusal,
        _ => ModelStopReason::EndTurn,
    }
}

fn describe_stop(reason: &str, details: Option<AnthropicStopDetails<'_>>) -> Option<String> {
    let explanation = details.and_then(|details| details.explanation.or(details.category));
    match (explanation, reason) {
        (Some(text), _) => Some(crate::json_writer::first_line(&text)),
        (
            None,
            "end_turn"
            | "tool_use"
            | "stop_sequence"
            | "max_tokens"
            | "pause_turn"
            | "refusal"
            | "model_context_window_exceeded",
        ) => None,
        (None, other) => Some(format!("stop reason {}", crate::json_writer::first_line(other))),
    }
}
