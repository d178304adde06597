//! Events with whole requests and answers, for users who ask for them.

use serde_json::{Value, json};
use windlass_vocabulary::{ContentBlock, Message, ModelRequest};

use super::agent_track::AgentTrack;
use super::emission::{Emission, EventFile};
use crate::content::{REDACTED, RawBodies};
use crate::names;
use crate::record::Attributes;

/// The body as it is sent.
pub(super) fn request_body(
    request: &ModelRequest,
    body: &[u8],
    query_source: &'static str,
    emission: &mut Emission<'_>,
) {
    if emission.config.content.raw_bodies == RawBodies::Off {
        return;
    }
    let Ok(mut value) = serde_json::from_slice::<Value>(body) else { return };
    hide_thinking(&mut value);
    let attributes = Attributes::default()
        .text("model", request.model.as_str())
        .text("query_source", query_source);
    emit_body(names::API_REQUEST_BODY, "request", &value, attributes, emission);
}

/// The answer in one form for all wires, because it was read piece by piece.
pub(super) fn response_body(
    track: &AgentTrack,
    message: &Message,
    query_source: &'static str,
    emission: &mut Emission<'_>,
) {
    if emission.config.content.raw_bodies == RawBodies::Off {
        return;
    }
    let content: Vec<Value> = message.content.iter().map(block_to_json).collect();
    let model = message.model.as_ref().map(|model| model.as_str());
    let mut value = json!({
        "id": track.requests.last_message_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": track.requests.last_stop_reason,
    });
    hide_thinking(&mut value);
    let attributes = Attributes::default()
        .optional_text("model", model)
        .text("query_source", query_source)
        .optional_text("request_id", track.requests.last_request_id.clone());
    emit_body(names::API_RESPONSE_BODY, "response", &value, attributes, emission);
}

fn emit_body(
    name: &'static str,
    kind: &'static str,
    value: &Value,
    attributes: Attributes,
    emission: &mut Emission<'_>,
) {
    let config = emission.config;
    let text = value.to_string();
    let length = text.encode_utf16().count();
    let attributes = attributes.count("body_length", length as u64);
    match &config.content.raw_bodies {
        RawBodies::Off => {}
        RawBodies::InEvents => {
            let is_cut = length > config.content.length_max;
            let attributes = attributes
                .text("body", emission.cut(&text, config.content.length_max))
                .optional_text("body_truncated", is_cut.then_some("true"));
            emission.event(name, attributes);
        }
        RawBodies::InFiles(folder) => {
            emission.event_with_file(name, attributes, EventFile { folder, kind, text });
        }
    }
}

fn block_to_json(block: &ContentBlock) -> Value {
    match block {
        ContentBlock::Text(text) => json!({"type": "text", "text": text}),
        ContentBlock::Thinking(thinking) => json!({"type": "thinking", "thinking": thinking.text}),
        ContentBlock::ToolUse(call) => {
            let input: Option<Value> = serde_json::from_str(call.input.as_str()).ok();
            json!({"type": "tool_use", "id": call.id.as_str(), "name": call.name.as_str(), "input": input})
        }
        ContentBlock::Media(media) => json!({"type": "media", "media_type": &*media.media_type}),
        ContentBlock::ToolResult(result) => {
            json!({"type": "tool_result", "tool_use_id": result.call.as_str()})
        }
        ContentBlock::Provider(block) if block.is_reasoning => {
            json!({"type": "thinking", "thinking": REDACTED})
        }
        ContentBlock::Provider(block) => {
            serde_json::from_str(block.json.as_str()).unwrap_or_default()
        }
    }
}

/// Hides reasoning in the forms of all wires, as the reference CLI does.
fn hide_thinking(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(hide_thinking),
        Value::Object(fields) => {
            let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
            let is_thinking = matches!(kind, "thinking" | "redacted_thinking" | "reasoning")
                || fields.get("thought") == Some(&Value::Bool(true));
            for (name, field) in fields.iter_mut() {
                match THINKING_FIELDS.contains(&name.as_str()) {
                    true if is_thinking => *field = Value::from(REDACTED),
                    // Reasoning of the chat wire, beside the content.
                    _ if REASONING_FIELDS.contains(&name.as_str()) && field.is_string() => {
                        *field = Value::from(REDACTED);
                    }
                    true | false => hide_thinking(field),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

const THINKING_FIELDS: [&str; 6] =
    ["thinking", "text", "data", "summary", "content", "encrypted_content"];
const REASONING_FIELDS: [&str; 2] = ["reasoning_content", "thoughtSignature"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_of_no_wire_is_left() {
        let mut body = json!({
            "thinking": {"type": "enabled", "budget_tokens": 1024},
            "messages": [
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "canary", "signature": "s"},
                    {"type": "redacted_thinking", "data": "canary"},
                    {"type": "text", "text": "kept"},
                ]},
                {"role": "assistant", "content": "kept", "reasoning_content": "canary"},
            ],
            "input": [{"type": "reasoning", "summary": [{"text": "canary"}], "encrypted_content": "canary"}],
            "contents": [{"parts": [{"thought": true, "text": "canary"}, {"text": "kept"}]}],
        });
        hide_thinking(&mut body);
        let text = body.to_string();
        assert!(!text.contains("canary"), "{text}");
        assert_eq!(text.matches("kept").count(), 3, "{text}");
        assert_eq!(body["thinking"]["budget_tokens"], 1024);
    }
}
