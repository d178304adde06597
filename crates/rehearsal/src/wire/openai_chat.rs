//! The chat wire: `POST /v1/chat/completions`.

use serde_json::{Value, json};
use windlass_vocabulary::Usage;

use super::{
    IncomingModelRequest, WireReply, collect_text, encode_sse, list_at, set_field,
    split_into_pieces, str_at,
};
use crate::script::StopReason;

pub(super) fn parse_request(body: &Value) -> Result<IncomingModelRequest, String> {
    let mut incoming = IncomingModelRequest {
        model: str_at(body, "model").to_owned(),
        streaming: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
        ..IncomingModelRequest::default()
    };
    for message in list_at(body, "messages")? {
        let text = message.get("content").map(collect_text).unwrap_or_default();
        match str_at(message, "role") {
            "assistant" => incoming.clear_answered(),
            "user" => incoming.add_text(&text),
            "tool" => incoming.add_tool_result(&text),
            _ => {}
        }
    }
    Ok(incoming)
}

/// The stream. Usage is sent whether or not it was asked for, as many servers do.
pub(super) fn encode_events(reply: &WireReply<'_>) -> Vec<Vec<u8>> {
    let blocks = reply.blocks();
    let chunk = reply.answer.chunk;
    let mut deltas = vec![json!({"role": "assistant", "content": ""})];
    deltas.extend(
        split_into_pieces(blocks.thinking, chunk)
            .into_iter()
            .map(|text| json!({"reasoning_content": text})),
    );
    let key = if reply.stop_reason() == StopReason::Refusal { "refusal" } else { "content" };
    deltas.extend(split_into_pieces(blocks.text, chunk).into_iter().map(|text| json!({key: text})));
    for (index, tool) in blocks.tools.iter().enumerate() {
        let call = json!({
            "index": index,
            "id": reply.call_id("call", index, tool),
            "type": "function",
            "function": {"name": tool.name, "arguments": ""},
        });
        deltas.push(json!({"tool_calls": [call]}));
        for piece in split_into_pieces(&tool.input, chunk) {
            let more = json!({"index": index, "function": {"arguments": piece}});
            deltas.push(json!({"tool_calls": [more]}));
        }
    }
    deltas.extend(
        split_into_pieces(blocks.text_after, chunk).into_iter().map(|text| json!({key: text})),
    );
    let mut events: Vec<_> = deltas
        .into_iter()
        .map(|delta| build_choice("delta", &delta, None))
        .chain([build_choice("delta", &json!({}), Some(finish_reason(reply.stop_reason())))])
        .map(|choice| {
            encode_sse(None, &build_completion(reply, "chat.completion.chunk", &[choice], None))
        })
        .collect();
    let usage = build_usage(&reply.usage);
    events.push(encode_sse(
        None,
        &build_completion(reply, "chat.completion.chunk", &[], Some(&usage)),
    ));
    events.push(b"data: [DONE]\n\n".to_vec());
    events
}

/// The answer in one piece.
pub(super) fn encode_whole(reply: &WireReply<'_>) -> Value {
    let blocks = reply.blocks();
    let mut message = json!({"role": "assistant", "content": blocks.joined_text()});
    if !blocks.thinking.is_empty() {
        set_field(&mut message, "reasoning_content", Value::from(blocks.thinking));
    }
    if !blocks.tools.is_empty() {
        let calls = blocks.tools.iter().enumerate().map(|(index, tool)| {
            json!({
                "id": reply.call_id("call", index, tool),
                "type": "function",
                "function": {"name": tool.name, "arguments": tool.input},
            })
        });
        set_field(&mut message, "tool_calls", calls.collect::<Value>());
    }
    let choice = build_choice("message", &message, Some(finish_reason(reply.stop_reason())));
    build_completion(reply, "chat.completion", &[choice], Some(&build_usage(&reply.usage)))
}

fn build_choice(key: &str, content: &Value, finish: Option<&str>) -> Value {
    json!({"index": 0, key: content, "finish_reason": finish})
}

fn build_completion(
    reply: &WireReply<'_>,
    object: &str,
    choices: &[Value],
    usage: Option<&Value>,
) -> Value {
    json!({
        "id": format!("chatcmpl_{}", reply.number),
        "object": object,
        "created": 0,
        "model": reply.model,
        "choices": choices,
        "usage": usage,
    })
}

fn finish_reason(stop: StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn | StopReason::StopSequence | StopReason::PauseTurn => "stop",
        StopReason::ToolUse => "tool_calls",
        StopReason::MaxTokens | StopReason::WindowExceeded => "length",
        StopReason::Refusal => "content_filter",
    }
}

/// Here cached tokens are part of the prompt, not beside it.
fn build_usage(usage: &Usage) -> Value {
    let prompt = usage.input_total().0;
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": usage.output.0,
        "total_tokens": prompt.saturating_add(usage.output.0),
        "prompt_tokens_details": {"cached_tokens": usage.cache_read.0},
    })
}
