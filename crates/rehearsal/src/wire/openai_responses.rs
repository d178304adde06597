//! The responses wire: `POST /v1/responses`.

use serde_json::{Value, json};
use windlass_vocabulary::Usage;

use super::{Asked, Blocks, Reply, pieces, set, sse, str_at, text_of};
use crate::script::StopReason;

/// What is asked.
pub(super) fn asked(body: &Value) -> Result<Asked, String> {
    let mut asked = Asked {
        model: str_at(body, "model").to_owned(),
        streaming: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
        ..Asked::default()
    };
    match body.get("input") {
        Some(Value::String(text)) => asked.hear(text),
        Some(Value::Array(items)) => items.iter().for_each(|item| hear(&mut asked, item)),
        _ => return Err("`input` must be text or a list of items".to_owned()),
    }
    Ok(asked)
}

fn hear(asked: &mut Asked, item: &Value) {
    match (str_at(item, "type"), str_at(item, "role")) {
        ("message" | "", "user") => {
            asked.hear(&item.get("content").map(text_of).unwrap_or_default());
        }
        ("message" | "", "assistant") | ("reasoning" | "function_call", _) => asked.forget(),
        ("function_call_output", _) => {
            asked.hear_result(&item.get("output").map(text_of).unwrap_or_default());
        }
        _ => {}
    }
}

/// The stream.
pub(super) fn events(reply: &Reply<'_>) -> Vec<Vec<u8>> {
    let mut stream = Stream { events: Vec::new(), chunk: reply.answer.chunk };
    let begun = response(reply, "in_progress", &[]);
    stream.push("response.created", json!({"response": begun}));
    stream.push("response.in_progress", json!({"response": begun}));
    let items = items(reply);
    for (index, item) in items.iter().enumerate() {
        stream.item(index, item);
    }
    let (name, ended) = ended(reply, &items);
    stream.push(name, json!({"response": ended}));
    stream.events
}

/// The answer in one piece.
pub(super) fn whole(reply: &Reply<'_>) -> Value {
    ended(reply, &items(reply)).1
}

/// The event that says that all has failed.
pub(super) fn failed(reply: &Reply<'_>, kind: &str, message: &str) -> Vec<u8> {
    let mut response = response(reply, "failed", &[]);
    set(&mut response, "error", json!({"code": kind, "message": message}));
    let payload = json!({"type": "response.failed", "response": response});
    sse(Some("response.failed"), &payload)
}

fn ended(reply: &Reply<'_>, items: &[Value]) -> (&'static str, Value) {
    let (name, status) = match reply.stop() {
        StopReason::MaxTokens => ("response.incomplete", "incomplete"),
        StopReason::WindowExceeded => ("response.failed", "failed"),
        _ => ("response.completed", "completed"),
    };
    let mut response = response(reply, status, items);
    set(&mut response, "usage", usage(&reply.usage));
    match reply.stop() {
        StopReason::MaxTokens => {
            set(&mut response, "incomplete_details", json!({"reason": "max_output_tokens"}));
        }
        StopReason::WindowExceeded => {
            let message = "The script says that the window is full.";
            set(
                &mut response,
                "error",
                json!({"code": "context_length_exceeded", "message": message}),
            );
        }
        _ => {}
    }
    (name, response)
}

fn response(reply: &Reply<'_>, status: &str, output: &[Value]) -> Value {
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

/// The output items, complete.
fn items(reply: &Reply<'_>) -> Vec<Value> {
    let Blocks { thinking, text, tools, text_after } = reply.blocks();
    let mut items = Vec::new();
    if !thinking.is_empty() {
        items.push(json!({
            "type": "reasoning",
            "id": format!("rs_{}", reply.number),
            "summary": [{"type": "summary_text", "text": thinking}],
            "encrypted_content": format!("sealed_{}", reply.number),
        }));
    }
    items.extend(message(reply, 0, text));
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
    items.extend(message(reply, 1, text_after));
    items
}

fn message(reply: &Reply<'_>, index: usize, text: &str) -> Option<Value> {
    let part = if reply.stop() == StopReason::Refusal {
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

struct Stream {
    events: Vec<Vec<u8>>,
    chunk: usize,
}

impl Stream {
    fn push(&mut self, name: &str, mut payload: Value) {
        set(&mut payload, "type", Value::from(name));
        set(&mut payload, "sequence_number", Value::from(self.events.len()));
        self.events.push(sse(Some(name), &payload));
    }

    /// An item: begun empty, told in pieces, then whole.
    fn item(&mut self, index: usize, item: &Value) {
        let id = str_at(item, "id");
        let mut begun = item.clone();
        match str_at(item, "type") {
            "message" => {
                set(&mut begun, "status", json!("in_progress"));
                set(&mut begun, "content", json!([]));
                self.push(
                    "response.output_item.added",
                    json!({"output_index": index, "item": begun}),
                );
                if let Some(part) = item.pointer("/content/0") {
                    self.part(index, id, part);
                }
            }
            "function_call" => {
                set(&mut begun, "status", json!("in_progress"));
                set(&mut begun, "arguments", json!(""));
                self.push(
                    "response.output_item.added",
                    json!({"output_index": index, "item": begun}),
                );
                let name = "response.function_call_arguments";
                let place = json!({"output_index": index, "item_id": id});
                self.told(name, &place, "arguments", str_at(item, "arguments"));
            }
            _ => {
                set(&mut begun, "summary", json!([]));
                self.push(
                    "response.output_item.added",
                    json!({"output_index": index, "item": begun}),
                );
                let text = item.pointer("/summary/0/text").and_then(Value::as_str);
                let name = "response.reasoning_summary_text";
                let place = json!({"output_index": index, "item_id": id, "summary_index": 0});
                self.told(name, &place, "text", text.unwrap_or_default());
            }
        }
        self.push("response.output_item.done", json!({"output_index": index, "item": item}));
    }

    fn part(&mut self, index: usize, id: &str, part: &Value) {
        let place = json!({"output_index": index, "content_index": 0, "item_id": id});
        let (name, key) = match str_at(part, "type") {
            "refusal" => ("response.refusal", "refusal"),
            _ => ("response.output_text", "text"),
        };
        let mut begun = part.clone();
        set(&mut begun, key, json!(""));
        let mut added = place.clone();
        set(&mut added, "part", begun);
        self.push("response.content_part.added", added);
        self.told(name, &place, key, str_at(part, key));
        let mut done = place;
        set(&mut done, "part", part.clone());
        self.push("response.content_part.done", done);
    }

    /// Text in pieces, then whole.
    fn told(&mut self, name: &str, place: &Value, key: &str, text: &str) {
        for piece in pieces(text, self.chunk) {
            let mut delta = place.clone();
            set(&mut delta, "delta", Value::from(piece));
            self.push(&format!("{name}.delta"), delta);
        }
        let mut done = place.clone();
        set(&mut done, key, Value::from(text));
        self.push(&format!("{name}.done"), done);
    }
}

/// Here cached tokens are part of the input, not beside it.
fn usage(usage: &Usage) -> Value {
    let input = usage.input_total().0;
    json!({
        "input_tokens": input,
        "input_tokens_details": {"cached_tokens": usage.cache_read.0},
        "output_tokens": usage.output.0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input.saturating_add(usage.output.0),
    })
}
