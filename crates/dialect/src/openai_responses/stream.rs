//! Reads the events of one answer. Deltas are for showing; an item counts when it is done, and is
//! read from the copy that comes then. Only `response.completed` or `response.incomplete` makes an
//! answer of it.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use windlass_vocabulary::{
    ContentBlock, ModelFailure, ModelStopReason, ToolCall, ToolCallId, ToolName, Usage,
};

use super::event::{
    ResponsesBody, ResponsesDeltaEvent, ResponsesEventHead, ResponsesItem, ResponsesItemEvent,
    ResponsesLifecycleEvent, ResponsesUsage,
};
use super::failure;
use crate::DecodedEvent;
use crate::answer_calls::{TRUNCATED_CALL, parse_call_arguments};
use crate::json_writer::first_line;
use crate::lenient_json::StreamedText;
use crate::provider_rules;
use crate::stream_decoder::{DeltaKind, EventInterpreter, StreamFlow};
use crate::stream_failure::{parse_event, protocol_failure};
use crate::stream_progress::{AnswerStop, StreamProgress};

/// The state of one answer.
#[derive(Debug, Default)]
pub(super) struct ResponsesStreamReader {
    progress: StreamProgress,
    /// The call whose arguments may be shown.
    call_index: Option<u64>,
    finished_items: BTreeSet<u64>,
    /// Joins what is shown, in case it is cut inside a character.
    shown_text: StreamedText,
    is_refused: bool,
}

impl EventInterpreter for ResponsesStreamReader {
    fn read_event(
        &mut self,
        data: &str,
        out: &mut Vec<DecodedEvent>,
    ) -> Result<StreamFlow, ModelFailure> {
        let ResponsesEventHead { kind } = parse_event(data)?;
        match &*kind {
            "response.created" => self.start_response(&parse_event(data)?, out)?,
            "response.output_text.delta" | "response.refusal.delta" => {
                self.emit_delta(data, DeltaKind::Text, out)?;
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.emit_delta(data, DeltaKind::Thinking, out)?;
            }
            "response.function_call_arguments.delta" => self.emit_arguments_delta(data, out)?,
            "response.output_item.added" => self.begin_item(&parse_event(data)?, out)?,
            "response.output_item.done" => {
                let event: ResponsesItemEvent<'_> = parse_event(data)?;
                let index = self.resolve_item_index(event.output_index);
                self.finish_item(index, event.item.get(), out)?;
            }
            "response.completed" | "response.incomplete" => {
                let event: ResponsesLifecycleEvent<'_> = parse_event(data)?;
                return self.finish_response(event.response.get(), out);
            }
            "response.failed" => {
                let event: ResponsesLifecycleEvent<'_> = parse_event(data)?;
                return Err(failure::classify_failed_response(event.response.get()));
            }
            "error" => return Err(failure::classify_error_event(data)),
            "keepalive" | "ping" => out.push(DecodedEvent::Ping),
            _ => {}
        }
        Ok(StreamFlow::Continue)
    }

    fn progress(&mut self) -> &mut StreamProgress {
        &mut self.progress
    }
}

impl ResponsesStreamReader {
    fn start_response(
        &mut self,
        event: &ResponsesLifecycleEvent<'_>,
        out: &mut Vec<DecodedEvent>,
    ) -> Result<(), ModelFailure> {
        if self.progress.is_started {
            return Err(protocol_failure("a second answer began in the same stream"));
        }
        let response: ResponsesBody<'_> = parse_event(event.response.get())?;
        self.progress.start(response.id.as_deref(), response.model.as_deref(), out);
        Ok(())
    }

    fn emit_delta(
        &mut self,
        data: &str,
        like: DeltaKind,
        out: &mut Vec<DecodedEvent>,
    ) -> Result<(), ModelFailure> {
        self.progress.budget.spend_bytes(data.len())?;
        let event: ResponsesDeltaEvent<'_> = parse_event(data)?;
        if let Some(delta) = event.delta {
            like.emit(self.shown_text.push(&delta), out);
            self.shown_text.clear_text();
        }
        Ok(())
    }

    fn emit_arguments_delta(
        &mut self,
        data: &str,
        out: &mut Vec<DecodedEvent>,
    ) -> Result<(), ModelFailure> {
        let ResponsesDeltaEvent { output_index, .. } = parse_event(data)?;
        if self.call_index.is_some() && output_index.or(self.call_index) == self.call_index {
            self.emit_delta(data, DeltaKind::CallInput, out)?;
        }
        Ok(())
    }

    fn begin_item(
        &mut self,
        event: &ResponsesItemEvent<'_>,
        out: &mut Vec<DecodedEvent>,
    ) -> Result<(), ModelFailure> {
        let item: ResponsesItem<'_> = parse_event(event.item.get())?;
        let index = self.resolve_item_index(event.output_index);
        if self.finished_items.contains(&index) {
            return Err(protocol_failure(format!("item {index} began again")));
        }
        self.call_index = None;
        self.shown_text = StreamedText::default();
        if item.kind == "function_call" {
            self.call_index = Some(index);
            let (id, name) = self.call_id_and_name(&item, index);
            out.push(DecodedEvent::CallStarted { id, name });
        }
        Ok(())
    }

    /// An item's place in the answer. Servers that do not number items tell one after the other.
    fn resolve_item_index(&self, index: Option<u64>) -> u64 {
        index.unwrap_or_else(|| u64::try_from(self.finished_items.len()).unwrap_or(u64::MAX))
    }

    fn finish_item(
        &mut self,
        index: u64,
        json: &str,
        out: &mut Vec<DecodedEvent>,
    ) -> Result<(), ModelFailure> {
        if !self.progress.is_started {
            return Err(protocol_failure("an item came before the answer began"));
        }
        if !self.finished_items.insert(index) {
            return Err(protocol_failure(format!("item {index} was done twice")));
        }
        self.progress.budget.spend_block()?;
        self.progress.budget.spend_bytes(json.len())?;
        let item: ResponsesItem<'_> = parse_event(json)?;
        match &*item.kind {
            "message" => self.finish_message(&item, out),
            "function_call" => self.finish_call(&item, index, out),
            kind => {
                let block = provider_rules::OPENAI_RESPONSES.build_provider_block(kind, json);
                out.push(DecodedEvent::Block(ContentBlock::Provider(block)));
            }
        }
        Ok(())
    }

    fn finish_message(&mut self, item: &ResponsesItem<'_>, out: &mut Vec<DecodedEvent>) {
        let mut text = StreamedText::default();
        for part in item.content.iter().flatten() {
            for piece in [&part.text, &part.refusal].into_iter().flatten() {
                text.push(piece);
            }
            self.is_refused |= part.refusal.is_some();
        }
        if !text.is_empty() {
            out.push(DecodedEvent::Block(ContentBlock::Text(text.into_text())));
        }
    }

    fn finish_call(&mut self, item: &ResponsesItem<'_>, index: u64, out: &mut Vec<DecodedEvent>) {
        let (id, name) = self.call_id_and_name(item, index);
        let mut arguments = StreamedText::default();
        if let Some(piece) = &item.arguments {
            arguments.push(piece);
        }
        let (input, problem) = parse_call_arguments(&arguments.into_text());
        let is_cut = item.status.as_deref() == Some("incomplete");
        let problem = problem.or_else(|| is_cut.then(|| String::from(TRUNCATED_CALL)));
        out.push(
            self.progress
                .calls
                .complete_call(ToolCall { id, name, input, signature: None }, problem),
        );
    }

    fn call_id_and_name(&self, item: &ResponsesItem<'_>, index: u64) -> (ToolCallId, ToolName) {
        let given = [&item.call_id, &item.id].into_iter().flatten().find(|id| !id.is_empty());
        let id = match given {
            Some(id) => ToolCallId::from(&**id),
            None => ToolCallId::from(self.progress.calls.derive_call_id(index).as_str()),
        };
        (id, ToolName::from(item.name.as_deref().unwrap_or_default()))
    }

    fn finish_response(
        &mut self,
        json: &str,
        out: &mut Vec<DecodedEvent>,
    ) -> Result<StreamFlow, ModelFailure> {
        if !self.progress.is_started {
            return Err(protocol_failure("the answer ended before it began"));
        }
        let response: ResponsesBody<'_> = parse_event(json)?;
        // Some servers never tell an item by itself, only the whole at the end.
        if self.finished_items.is_empty() {
            for (index, item) in (0..).zip(response.output.into_iter().flatten()) {
                self.finish_item(index, item.get(), out)?;
            }
        }
        self.update_usage(response.usage, out);
        let reason = response.incomplete_details.and_then(|details| details.reason);
        self.progress.stop = Some(match reason.as_deref() {
            Some("max_output_tokens") => AnswerStop::new(ModelStopReason::OutputLimit),
            Some("content_filter") => AnswerStop::new(ModelStopReason::Refusal),
            _ if self.is_refused => AnswerStop::new(ModelStopReason::Refusal),
            None => AnswerStop::new(ModelStopReason::EndTurn),
            Some(other) => {
                let detail = format!("incomplete: {}", first_line(other));
                AnswerStop::with_detail(ModelStopReason::EndTurn, detail)
            }
        });
        out.push(self.progress.finish());
        Ok(StreamFlow::Finished)
    }

    fn update_usage(&mut self, usage: Option<ResponsesUsage>, out: &mut Vec<DecodedEvent>) {
        let Some(usage) = usage else { return };
        let details = usage.input_tokens_details.unwrap_or_default();
        let read = details.cached_tokens.tokens();
        let written = details.cache_write_tokens.tokens();
        let usage = Usage {
            input: usage.input_tokens.tokens().less(read).less(written),
            output: usage.output_tokens.tokens(),
            cache_write: written,
            cache_read: read,
        };
        self.progress.update_usage(usage, out);
    }
}
