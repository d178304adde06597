//! The messages wire: `POST /v1/messages`.

use serde_json::{Value, json};
use windlass_vocabulary::{Tokens, Usage};

use super::{
    IncomingModelRequest, WireReply, collect_text, encode_sse, list_at, parse_arguments, set_field,
    split_into_pieces, str_at,
};
use crate::script::{ScriptedToolCall, StopReason};

pub(super) fn parse_request(body: &Value) -> Result<IncomingModelRequest, String> {
    let mut incoming = IncomingModelRequest {
        model: str_at(body, "model").to_owned(),
        streaming: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
        ..IncomingModelRequest::default()
    };
    for message in list_at(body, "messages")? {
        if str_at(message, "role") == "assistant" {
            incoming.clear_answered();
            continue;
        }
        match message.get("content") {
            Some(Value::String(text)) => incoming.add_text(text),
            Some(Value::Array(blocks)) => {
                blocks.iter().for_each(|block| read_block(&mut incoming, block));
            }
            _ => {}
        }
    }
    Ok(incoming)
}

fn read_block(incoming: &mut IncomingModelRequest, block: &Value) {
    match str_at(block, "type") {
        "text" => incoming.add_text(str_at(block, "text")),
        "tool_result" => {
            incoming.add_tool_result(&block.get("content").map(collect_text).unwrap_or_default());
        }
        _ => {}
    }
}

pub(super) fn encode_events(reply: &WireReply<'_>) -> Vec<Vec<u8>> {
    let blocks = reply.blocks();
    let mut stream =
        AnthropicEventStream { events: Vec::new(), index: 0, chunk: reply.answer.chunk };
    let message = build_message(
        reply,
        &[],
        None,
        &Usage { output: reply.usage.output.min(Tokens(1)), ..reply.usage },
    );
    stream.push("message_start", &json!({"type": "message_start", "message": message}));
    if !blocks.thinking.is_empty() {
        stream.push_thinking(blocks.thinking, &build_signature(reply));
    }
    stream.push_text(blocks.text);
    for (index, tool) in blocks.tools.iter().enumerate() {
        stream.push_tool_call(&reply.call_id("toolu", index, tool), tool);
    }
    stream.push_text(blocks.text_after);
    let mut delta = json!({"stop_reason": reply.stop_reason().name(), "stop_sequence": null});
    if reply.stop_reason() == StopReason::Refusal {
        set_field(&mut delta, "stop_details", refusal_details());
    }
    let usage = build_usage(&reply.usage);
    stream.push("message_delta", &json!({"type": "message_delta", "delta": delta, "usage": usage}));
    stream.push("message_stop", &json!({"type": "message_stop"}));
    stream.events
}

/// The answer without streaming.
pub(super) fn encode_whole(reply: &WireReply<'_>) -> Value {
    let blocks = reply.blocks();
    let text = |text: &str| (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
    let mut content = Vec::new();
    if !blocks.thinking.is_empty() {
        content.push(json!({
            "type": "thinking", "thinking": blocks.thinking, "signature": build_signature(reply),
        }));
    }
    content.extend(text(blocks.text));
    for (index, tool) in blocks.tools.iter().enumerate() {
        let id = reply.call_id("toolu", index, tool);
        let input = parse_arguments(&tool.input);
        content.push(json!({"type": "tool_use", "id": id, "name": tool.name, "input": input}));
    }
    content.extend(text(blocks.text_after));
    build_message(reply, &content, Some(reply.stop_reason()), &reply.usage)
}

/// The error object. An unknown status has the type a server fault has.
pub(super) fn encode_error(status: u16, kind: Option<&str>, message: &str) -> Value {
    let kind = kind.unwrap_or(match status {
        400 => "invalid_request_error",
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 | 405 => "not_found_error",
        409 => "conflict_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        408 | 504 => "timeout_error",
        529 => "overloaded_error",
        _ => "api_error",
    });
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

struct AnthropicEventStream {
    events: Vec<Vec<u8>>,
    index: usize,
    chunk: usize,
}

impl AnthropicEventStream {
    fn push(&mut self, name: &str, payload: &Value) {
        self.events.push(encode_sse(Some(name), payload));
    }

    fn start_block(&mut self, block: &Value) {
        let index = self.index;
        self.push(
            "content_block_start",
            &json!({"type": "content_block_start", "index": index, "content_block": block}),
        );
    }

    fn push_delta(&mut self, delta: &Value) {
        let index = self.index;
        self.push(
            "content_block_delta",
            &json!({"type": "content_block_delta", "index": index, "delta": delta}),
        );
    }

    fn stop_block(&mut self) {
        let index = self.index;
        self.push("content_block_stop", &json!({"type": "content_block_stop", "index": index}));
        self.index += 1;
    }

    fn push_thinking(&mut self, thinking: &str, signature: &str) {
        self.start_block(&json!({"type": "thinking", "thinking": "", "signature": ""}));
        for piece in split_into_pieces(thinking, self.chunk) {
            self.push_delta(&json!({"type": "thinking_delta", "thinking": piece}));
        }
        self.push_delta(&json!({"type": "signature_delta", "signature": signature}));
        self.stop_block();
    }

    fn push_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.start_block(&json!({"type": "text", "text": ""}));
        for piece in split_into_pieces(text, self.chunk) {
            self.push_delta(&json!({"type": "text_delta", "text": piece}));
        }
        self.stop_block();
    }

    fn push_tool_call(&mut self, id: &str, tool: &ScriptedToolCall) {
        self.start_block(&json!({"type": "tool_use", "id": id, "name": tool.name, "input": {}}));
        for piece in split_into_pieces(&tool.input, self.chunk) {
            self.push_delta(&json!({"type": "input_json_delta", "partial_json": piece}));
        }
        self.stop_block();
    }
}

fn build_message(
    reply: &WireReply<'_>,
    content: &[Value],
    stop: Option<StopReason>,
    used: &Usage,
) -> Value {
    let mut message = json!({
        "id": format!("msg_{}", reply.number),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": stop.map(StopReason::name),
        "stop_sequence": null,
        "usage": build_usage(used),
    });
    if stop == Some(StopReason::Refusal) {
        set_field(&mut message, "stop_details", refusal_details());
    }
    message
}

fn build_usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input.0,
        "output_tokens": usage.output.0,
        "cache_creation_input_tokens": usage.cache_write.0,
        "cache_read_input_tokens": usage.cache_read.0,
    })
}

fn refusal_details() -> Value {
    json!({"category": "rehearsed", "explanation": "The script says that the model refuses."})
}

fn build_signature(reply: &WireReply<'_>) -> String {
    format!("signature_{}", reply.number)
}
