//! The wire of `POST /v1beta/models/{model}:streamGenerateContent`.

use serde_json::{Value, json};
use windlass_vocabulary::Usage;

use super::{
    IncomingModelRequest, WireReply, encode_sse, list_at, parse_arguments, set_field,
    split_into_pieces, str_at,
};
use crate::script::StopReason;

/// Parses the body. The model and streaming are in the path; the caller adds them.
pub(super) fn parse_request(body: &Value) -> Result<IncomingModelRequest, String> {
    let mut incoming = IncomingModelRequest::default();
    for content in list_at(body, "contents")? {
        if str_at(content, "role") == "model" {
            incoming.clear_answered();
            continue;
        }
        for part in content.get("parts").and_then(Value::as_array).into_iter().flatten() {
            read_part(&mut incoming, part);
        }
    }
    Ok(incoming)
}

fn read_part(incoming: &mut IncomingModelRequest, part: &Value) {
    if let Some(text) = part.get("text").and_then(Value::as_str) {
        incoming.add_text(text);
    }
    if let Some(response) = part.pointer("/functionResponse/response") {
        // A result's text is under an arbitrary key, so all texts are taken.
        incoming.add_tool_result(&collect_words(response));
    }
}

fn collect_words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) => fields.values().map(collect_words).collect::<Vec<_>>().join("\n"),
        Value::Array(items) => items.iter().map(collect_words).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}

/// The stream. Calls are complete; only the last fragment has a stop reason.
pub(super) fn encode_events(reply: &WireReply<'_>) -> Vec<Vec<u8>> {
    let blocks = reply.blocks();
    let chunk = reply.answer.chunk;
    let mut parts: Vec<_> = split_into_pieces(blocks.thinking, chunk)
        .into_iter()
        .map(|text| json!({"text": text, "thought": true}))
        .collect();
    let text = |text: &str| json!({"text": text});
    parts.extend(split_into_pieces(blocks.text, chunk).into_iter().map(text));
    parts.extend(build_calls(reply));
    parts.extend(split_into_pieces(blocks.text_after, chunk).into_iter().map(text));
    let mut events: Vec<_> = parts
        .into_iter()
        .map(|part| encode_sse(None, &build_fragment(reply, &[part], None)))
        .collect();
    events.push(encode_sse(
        None,
        &build_fragment(reply, &[text("")], Some(finish_reason(reply.stop_reason()))),
    ));
    events
}

/// The answer without streaming.
pub(super) fn encode_whole(reply: &WireReply<'_>) -> Value {
    let blocks = reply.blocks();
    let mut parts = Vec::new();
    if !blocks.thinking.is_empty() {
        parts.push(json!({"text": blocks.thinking, "thought": true}));
    }
    parts.push(json!({"text": blocks.joined_text()}));
    parts.extend(build_calls(reply));
    build_fragment(reply, &parts, Some(finish_reason(reply.stop_reason())))
}

/// The error object. The kind is a status word such as `UNAVAILABLE`.
pub(super) fn encode_error(status: u16, kind: Option<&str>, message: &str) -> Value {
    let kind = kind.unwrap_or(match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 | 529 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "INTERNAL",
    });
    json!({"error": {"code": status, "message": message, "status": kind}})
}

fn build_calls(reply: &WireReply<'_>) -> Vec<Value> {
    let tools = reply.blocks().tools.iter().enumerate();
    tools
        .map(|(index, tool)| {
            let id = reply.call_id("call", index, tool);
            json!({
                "functionCall": {"id": id, "name": tool.name, "args": parse_arguments(&tool.input)},
                "thoughtSignature": format!("signature_{}_{index}", reply.number),
            })
        })
        .collect()
}

fn build_fragment(reply: &WireReply<'_>, parts: &[Value], finish: Option<&str>) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if let Some(finish) = finish {
        set_field(&mut candidate, "finishReason", Value::from(finish));
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": build_usage(&reply.usage),
        "modelVersion": reply.model,
        "responseId": format!("resp_{}", reply.number),
    })
}

fn finish_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn
        | StopReason::ToolUse
        | StopReason::StopSequence
        | StopReason::PauseTurn => "STOP",
        StopReason::MaxTokens | StopReason::WindowExceeded => "MAX_TOKENS",
        StopReason::Refusal => "SAFETY",
    }
}

/// Here cached tokens are part of the prompt, not beside it.
fn build_usage(usage: &Usage) -> Value {
    let prompt = usage.input_total().0;
    json!({
        "promptTokenCount": prompt,
        "cachedContentTokenCount": usage.cache_read.0,
        "candidatesTokenCount": usage.output.0,
        "totalTokenCount": prompt.saturating_add(usage.output.0),
    })
}
