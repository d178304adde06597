//! The wire of `POST /v1beta/models/{model}:streamGenerateContent`.

use serde_json::{Value, json};
use windlass_vocabulary::Usage;

use super::{Asked, Reply, arguments, list_at, pieces, set, sse, str_at};
use crate::script::StopReason;

/// What is asked. Model and streaming stand in the path; `serve` adds them.
pub(super) fn asked(body: &Value) -> Result<Asked, String> {
    let mut asked = Asked::default();
    for content in list_at(body, "contents")? {
        if str_at(content, "role") == "model" {
            asked.forget();
            continue;
        }
        for part in content.get("parts").and_then(Value::as_array).into_iter().flatten() {
            hear(&mut asked, part);
        }
    }
    Ok(asked)
}

fn hear(asked: &mut Asked, part: &Value) {
    if let Some(text) = part.get("text").and_then(Value::as_str) {
        asked.hear(text);
    }
    if let Some(response) = part.pointer("/functionResponse/response") {
        // The words of a result stand under a key of the tool's choosing, so take all of them.
        asked.hear_result(&words(response));
    }
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) => fields.values().map(words).collect::<Vec<_>>().join("\n"),
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}

/// The stream. Calls come whole; the last fragment alone has a reason to stop.
pub(super) fn events(reply: &Reply<'_>) -> Vec<Vec<u8>> {
    let blocks = reply.blocks();
    let chunk = reply.answer.chunk;
    let mut parts: Vec<_> = pieces(blocks.thinking, chunk)
        .into_iter()
        .map(|text| json!({"text": text, "thought": true}))
        .collect();
    let text = |text: &str| json!({"text": text});
    parts.extend(pieces(blocks.text, chunk).into_iter().map(text));
    parts.extend(calls(reply));
    parts.extend(pieces(blocks.text_after, chunk).into_iter().map(text));
    let mut events: Vec<_> =
        parts.into_iter().map(|part| sse(None, &fragment(reply, &[part], None))).collect();
    events.push(sse(None, &fragment(reply, &[text("")], Some(finish(reply.stop())))));
    events
}

/// The answer in one piece.
pub(super) fn whole(reply: &Reply<'_>) -> Value {
    let blocks = reply.blocks();
    let mut parts = Vec::new();
    if !blocks.thinking.is_empty() {
        parts.push(json!({"text": blocks.thinking, "thought": true}));
    }
    parts.push(json!({"text": blocks.texts()}));
    parts.extend(calls(reply));
    fragment(reply, &parts, Some(finish(reply.stop())))
}

/// The error object. The kind is a status word such as `UNAVAILABLE`.
pub(super) fn error(status: u16, kind: Option<&str>, message: &str) -> Value {
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

fn calls(reply: &Reply<'_>) -> Vec<Value> {
    let tools = reply.blocks().tools.iter().enumerate();
    tools
        .map(|(index, tool)| {
            let id = reply.call_id("call", index, tool);
            json!({
                "functionCall": {"id": id, "name": tool.name, "args": arguments(&tool.input)},
                "thoughtSignature": format!("signature_{}_{index}", reply.number),
            })
        })
        .collect()
}

fn fragment(reply: &Reply<'_>, parts: &[Value], finish: Option<&str>) -> Value {
    let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
    if let Some(finish) = finish {
        set(&mut candidate, "finishReason", Value::from(finish));
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": usage(&reply.usage),
        "modelVersion": reply.model,
        "responseId": format!("resp_{}", reply.number),
    })
}

fn finish(stop: StopReason) -> &'static str {
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
fn usage(usage: &Usage) -> Value {
    let prompt = usage.input_total().0;
    json!({
        "promptTokenCount": prompt,
        "cachedContentTokenCount": usage.cache_read.0,
        "candidatesTokenCount": usage.output.0,
        "totalTokenCount": prompt.saturating_add(usage.output.0),
    })
}
