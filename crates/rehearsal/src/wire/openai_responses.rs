//! The responses wire: `POST /v1/responses`.

use serde_json::{Value, json};
use windlass_vocabulary::Usage;

use super::{
    AnswerBlocks, IncomingModelRequest, WireReply, collect_text, encode_sse, set_field,
    split_into_pieces, str_at,
};
use crate::script::StopReason;

pub(super) fn parse_request(body: &Value) -> Result<IncomingModelRequest, String> {
    let mut incoming = IncomingModelRequest {
        model: str_at(body, "model").to_owned(),
        streaming: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
        ..IncomingModelRequest::default()
    };
    match body.get("input") {
        Some(Value::String(text)) => incoming.add_text(text),
        Some(Value::Array(items)) => items.iter().for_each(|item| read_item(&mut incoming, item)),
        _ => return Err("`input` must be text or a list of items".to_owned()),
    }
    Ok(incoming)
}

fn read_item(incoming: &mut IncomingModelRequest, item: &Value) {
    match (str_at(item, "type"), str_at(item, "role")) {
        ("message" | "", "user") => {
            incoming.add_text(&item.get("content").map(collect_text).unwrap_or_default());
        }
        ("message" | "", "assistant") | ("reasoning" | "function_call", _) => {
            incoming.clear_answered();
        }
        ("function_call_output", _) => {
            incoming.add_tool_result(&item.get("output").map(collect_text).unwrap_or_default());
        }
        _ => {}
    }
}

pub(super) fn encode_events(reply: &WireReply<'_>) -> Vec<Vec<u8>> {
    let mut stream = ResponsesEventStream { events: Vec::new(), chunk: reply.answer.chunk };
    let begun = build_response(reply, "in_progress", &[]);
    stream.push("response.created", json!({"response": begun}));
    stream.push("response.in_progress", json!({"response": begun}));
    let items = build_items(reply);
    for (index, item) in items.iter().enumerate() {
        stream.push_item(index, item);
    }
    let (name, ended) = build_final_response(reply, &items);
    stream.push(name, json!({"response": ended}));
    stream.events
}

/// The answer in one piece.
pub(super) fn encode_whole(reply: &WireReply<'_>) -> Value {
    build_final_response(reply, &build_items(reply)).1
}

/// The event that says that all has failed.
pub(super) fn encode_failed_event(reply: &WireReply<'_>, kind: &str, message: &str) -> Vec<u8> {
    let mut response = build_response(reply, "failed", &[]);
    set_field(&mut response, "error", json!({"code": kind, "message": message}));
    let payload = json!({"type": "response.failed", "response": response});
    encode_sse(Some("response.failed"), &payload)
}

fn build_final_response(reply: &WireReply<'_>, items: &[Value]) -> (&'static str, Value) {
    let build = |status: &str| {
        let mut response = build_response(reply, status, items);
        set_field(&mut response, "usage", build_usage(&reply.usage));
        response
    };
    match reply.stop_reason() {
        StopReason::MaxTokens => {
            let mut response = build("incomplete");
            set_field(&mut response, "incomplete_details", json!({"reason": "max_output_tokens"}));
            ("response.incomplete", response)
        }
        StopReason::WindowExceeded => {
            let mut response = build("failed");
            let message = "The script says that the window is full.";
            let error = json!({"code": "context_length_exceeded", "message": message});
            set_field(&mut response, "error", error);
            ("response.failed", response)
        }
        StopReason::EndTurn
        | StopReason::ToolUse
        | StopReason::StopSequence
        | StopReason::PauseTurn
        | StopReason::Refusal => ("response.completed", build("completed")),
    }
}

fn build_response(reply: &WireReply<'_>, status: &str, output: &[Value]) -> Value {
    json!({
        "id": format!("resp_{}", reply.number),
        "object": "response",
        "created_at": 0,
        "model": reply.model,
        "status": status,
        "output": output,
        "error": null,
        "incomplete_details": null,
    })
}

fn build_items(reply: &WireReply<'_>) -> Vec<Value> {
    let AnswerBlocks { thinking, text, tools, text_after } = reply.blocks();
    let mut items = Vec::new();
    if !thinking.is_empty() {
        items.push(json!({
            "type": "reasoning",
            "id": format!("rs_{}", reply.number),
            "summary": [{"type": "summary_text", "text": thinking}],
            "encrypted_content": format!("sealed_{}", reply.number),
        }));
    }
    items.extend(build_message_item(reply, 0, text));
    for (index, tool) in tools.iter().enumerate() {
        items.push(json!({
            "type": "function_call",
            "id": format!("fc_{}_{index}", reply.number),
            "call_id": reply.call_id("call", index, tool),
            "name": tool.name,
            "arguments": tool.input,
            "status": "completed",
        }));
    }
    items.extend(build_message_item(reply, 1, text_after));
    items
}

fn build_message_item(reply: &WireReply<'_>, index: usize, text: &str) -> Option<Value> {
    let part = if reply.stop_reason() == StopReason::Refusal {
        json!({"type": "refusal", "refusal": text})
    } else {
        json!({"type": "output_text", "text": text, "annotations": []})
    };
    (!text.is_empty()).then(|| {
        json!({
            "type": "message",
            "id": format!("msg_{}_{index}", reply.number),
            "role": "assistant",
            "status": "completed",
            "content": [part],
        })
    })
}

struct ResponsesEventStream {
    events: Vec<Vec<u8>>,
    chunk: usize,
}

impl ResponsesEventStream {
    fn push(&mut self, name: &str, mut payload: Value) {
        set_field(&mut payload, "type", Value::from(name));
        set_field(&mut payload, "sequence_number", Value::from(self.events.len()));
        self.events.push(encode_sse(Some(name), &payload));
    }

    /// An item: begun empty, told in pieces, then whole.
    fn push_item(&mut self, index: usize, item: &Value) {
        let id = str_at(item, "id");
        let mut begun = item.clone();
        match str_at(item, "type") {
            "message" => {
                set_field(&mut begun, "status", json!("in_progress"));
                set_field(&mut begun, "content", json!([]));
                self.push(
                    "response.output_item.added",
                    json!({"output_index": index, "item": begun}),
                );
                if let Some(part) = item.pointer("/content/0") {
                    self.push_content_part(index, id, part);
                }
            }
            "function_call" => {
                set_field(&mut begun, "status", json!("in_progress"));
                set_field(&mut begun, "arguments", json!(""));
                self.push(
                    "response.output_item.added",
                    json!({"output_index": index, "item": begun}),
                );
                let name = "response.function_call_arguments";
                let location = json!({"output_index": index, "item_id": id});
                self.push_text_deltas(name, &location, "arguments", str_at(item, "arguments"));
            }
            _ => {
                set_field(&mut begun, "summary", json!([]));
                self.push(
                    "response.output_item.added",
                    json!({"output_index": index, "item": begun}),
                );
                let text = item.pointer("/summary/0/text").and_then(Value::as_str);
                let name = "response.reasoning_summary_text";
                let location = json!({"output_index": index, "item_id": id, "summary_index": 0});
                self.push_text_deltas(name, &location, "text", text.unwrap_or_default());
            }
        }
        self.push("response.output_item.done", json!({"output_index": index, "item": item}));
    }

    fn push_content_part(&mut self, index: usize, id: &str, part: &Value) {
        let location = json!({"output_index": index, "content_index": 0, "item_id": id});
        let (name, key) = match str_at(part, "type") {
            "refusal" => ("response.refusal", "refusal"),
            _ => ("response.output_text", "text"),
        };
        let mut begun = part.clone();
        set_field(&mut begun, key, json!(""));
        let mut added = location.clone();
        set_field(&mut added, "part", begun);
        self.push("response.content_part.added", added);
        self.push_text_deltas(name, &location, key, str_at(part, key));
        let mut done = location;
        set_field(&mut done, "part", part.clone());
        self.push("response.content_part.done", done);
    }

    /// Text in pieces, then whole.
    fn push_text_deltas(&mut self, name: &str, location: &Value, key: &str, text: &str) {
        for piece in split_into_pieces(text, self.chunk) {
            let mut delta = location.clone();
            set_field(&mut delta, "delta", Value::from(piece));
            self.push(&format!("{name}.delta"), delta);
        }
        let mut done = location.clone();
        set_field(&mut done, key, Value::from(text));
        self.push(&format!("{name}.done"), done);
    }
}

/// Here cached tokens are part of the input, not beside it.
fn build_usage(usage: &Usage) -> Value {
    let input = usage.input_total().0;
    json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": usage.cache_read.0},
        "output_tokens": usage.output.0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input.saturating_add(usage.output.0),
    })
}
