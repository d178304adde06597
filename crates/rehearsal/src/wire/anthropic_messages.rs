//! The messages wire: `POST /v1/messages`.

use serde_json::{Value, json};
use windlass_vocabulary::{Tokens, Usage};

use super::{Asked, Reply, arguments, list_at, pieces, set, sse, str_at, text_of};
use crate::script::{StopReason, ToolRequest};

/// What is asked.
pub(super) fn asked(body: &Value) -> Result<Asked, String> {
    let mut asked = Asked {
        model: str_at(body, "model").to_owned(),
        streaming: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
        ..Asked::default()
    };
    for message in list_at(body, "messages")? {
        if str_at(message, "role") == "assistant" {
            asked.forget();
            continue;
        }
        match message.get("content") {
            Some(Value::String(text)) => asked.hear(text),
            Some(Value::Array(blocks)) => blocks.iter().for_each(|block| hear(&mut asked, block)),
            _ => {}
        }
    }
    Ok(asked)
}

fn hear(asked: &mut Asked, block: &Value) {
    match str_at(block, "type") {
        "text" => asked.hear(str_at(block, "text")),
        "tool_result" => {
            asked.hear_result(&block.get("content").map(text_of).unwrap_or_default());
        }
        _ => {}
    }
}

/// The stream.
pub(super) fn events(reply: &Reply<'_>) -> Vec<Vec<u8>> {
    let blocks = reply.blocks();
    let mut stream = Stream { events: Vec::new(), index: 0, chunk: reply.answer.chunk };
    let message = message(
        reply,
        &[],
        None,
        &Usage { output: reply.usage.output.min(Tokens(1)), ..reply.usage },
    );
    stream.push("message_start", &json!({"type": "message_start", "message": message}));
    if !blocks.thinking.is_empty() {
        stream.thinking(blocks.thinking, &signature(reply));
    }
    stream.text(blocks.text);
    for (index, tool) in blocks.tools.iter().enumerate() {
        stream.tool(&reply.call_id("toolu", index, tool), tool);
    }
    stream.text(blocks.text_after);
    let mut delta = json!({"stop_reason": reply.stop().name(), "stop_sequence": null});
    if reply.stop() == StopReason::Refusal {
        set(&mut delta, "stop_details", refusal_details());
    }
    let usage = usage(&reply.usage);
    stream.push("message_delta", &json!({"type": "message_delta", "delta": delta, "usage": usage}));
    stream.push("message_stop", &json!({"type": "message_stop"}));
    stream.events
}

/// The answer in one piece.
pub(super) fn whole(reply: &Reply<'_>) -> Value {
    let blocks = reply.blocks();
    let text = |text: &str| (!text.is_empty()).then(|| json!({"type": "text", "text": text}));
    let mut content = Vec::new();
    if !blocks.thinking.is_empty() {
        content.push(json!({
            "type": "thinking", "thinking": blocks.thinking, "signature": signature(reply),
        }));
    }
    content.extend(text(blocks.text));
    for (index, tool) in blocks.tools.iter().enumerate() {
        let id = reply.call_id("toolu", index, tool);
        let input = arguments(&tool.input);
        content.push(json!({"type": "tool_use", "id": id, "name": tool.name, "input": input}));
    }
    content.extend(text(blocks.text_after));
    message(reply, &content, Some(reply.stop()), &reply.usage)
}

/// The error object. An unknown status has the type a server fault has.
pub(super) fn error(status: u16, kind: Option<&str>, message: &str) -> Value {
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

struct Stream {
    events: Vec<Vec<u8>>,
    index: usize,
    chunk: usize,
}

impl Stream {
    fn push(&mut self, name: &str, payload: &Value) {
        self.events.push(sse(Some(name), payload));
    }

    fn start(&mut self, block: &Value) {
        let index = self.index;
        self.push(
            "content_block_start",
            &json!({"type": "content_block_start", "index": index, "content_block": block}),
        );
    }

    fn delta(&mut self, delta: &Value) {
        let index = self.index;
        self.push(
            "content_block_delta",
            &json!({"type": "content_block_delta", "index": index, "delta": delta}),
        );
    }

    fn stop(&mut self) {
        let index = self.index;
        self.push("content_block_stop", &json!({"type": "content_block_stop", "index": index}));
        self.index += 1;
    }

    fn thinking(&mut self, thinking: &str, signature: &str) {
        self.start(&json!({"type": "thinking", "thinking": "", "signature": ""}));
        for piece in pieces(thinking, self.chunk) {
            self.delta(&json!({"type": "thinking_delta", "thinking": piece}));
        }
        self.delta(&json!({"type": "signature_delta", "signature": signature}));
        self.stop();
    }

    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.start(&json!({"type": "text", "text": ""}));
        for piece in pieces(text, self.chunk) {
            self.delta(&json!({"type": "text_delta", "text": piece}));
        }
        self.stop();
    }

    fn tool(&mut self, id: &str, tool: &ToolRequest) {
        self.start(&json!({"type": "tool_use", "id": id, "name": tool.name, "input": {}}));
        for piece in pieces(&tool.input, self.chunk) {
            self.delta(&json!({"type": "input_json_delta", "partial_json": piece}));
        }
        self.stop();
    }
}

fn message(reply: &Reply<'_>, content: &[Value], stop: Option<StopReason>, used: &Usage) -> Value {
    let mut message = json!({
        "id": format!("msg_{}", reply.number),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": stop.map(StopReason::name),
        "stop_sequence": null,
        "usage": usage(used),
    });
    if stop == Some(StopReason::Refusal) {
        set(&mut message, "stop_details", refusal_details());
    }
    message
}

fn usage(usage: &Usage) -> Value {
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

fn signature(reply: &Reply<'_>) -> String {
    format!("signature_{}", reply.number)
}
