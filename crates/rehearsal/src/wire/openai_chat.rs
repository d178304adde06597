//! The chat wire: `POST /v1/chat/completions`.

use serde_json::{Value, json};
use windlass_vocabulary::Usage;

use super::{Asked, Reply, list_at, pieces, set, sse, str_at, text_of};
use crate::script::StopReason;

/// What is asked.
pub(super) fn asked(body: &Value) -> Result<Asked, String> {
    let mut asked = Asked {
        model: str_at(body, "model").to_owned(),
        streaming: body.get("stream").and_then(Value::as_bool).unwrap_or(false),
        ..Asked::default()
    };
    for message in list_at(body, "messages")? {
        let text = message.get("content").map(text_of).unwrap_or_default();
        match str_at(message, "role") {
            "assistant" => asked.forget(),
            "user" => asked.hear(&text),
            "tool" => asked.hear_result(&text),
            _ => {}
        }
    }
    Ok(asked)
}

/// The stream. Usage is sent whether or not it was asked for, as many servers do.
pub(super) fn events(reply: &Reply<'_>) -> Vec<Vec<u8>> {
    let blocks = reply.blocks();
    let chunk = reply.answer.chunk;
    let mut deltas = vec![json!({"role": "assistant", "content": ""})];
    deltas.extend(
        pieces(blocks.thinking, chunk).into_iter().map(|text| json!({"reasoning_content": text})),
    );
    let key = if reply.stop() == StopReason::Refusal { "refusal" } else { "content" };
    deltas.extend(pieces(blocks.text, chunk).into_iter().map(|text| json!({key: text})));
    for (index, tool) in blocks.tools.iter().enumerate() {
        let call = json!({
            "index": index,
            "id": reply.call_id("call", index, tool),
            "type": "function",
            "function": {"name": tool.name, "arguments": ""},
        });
        deltas.push(json!({"tool_calls": [call]}));
        for piece in pieces(&tool.input, chunk) {
            let more = json!({"index": index, "function": {"arguments": piece}});
            deltas.push(json!({"tool_calls": [more]}));
        }
    }
    deltas.extend(pieces(blocks.text_after, chunk).into_iter().map(|text| json!({key: text})));
    let mut events: Vec<_> = deltas
        .into_iter()
        .map(|delta| choice("delta", &delta, None))
        .chain([choice("delta", &json!({}), Some(finish(reply.stop())))])
        .map(|choice| sse(None, &completion(reply, "chat.completion.chunk", &[choice], None)))
        .collect();
    let usage = usage(&reply.usage);
    events.push(sse(None, &completion(reply, "chat.completion.chunk", &[], Some(&usage))));
    events.push(b"data: [DONE]\n\n".to_vec());
    events
}

/// The answer in one piece.
pub(super) fn whole(reply: &Reply<'_>) -> Value {
    let blocks = reply.blocks();
    let mut message = json!({"role": "assistant", "content": blocks.texts()});
    if !blocks.thinking.is_empty() {
        set(&mut message, "reasoning_content", Value::from(blocks.thinking));
    }
    if !blocks.tools.is_empty() {
        let calls = blocks.tools.iter().enumerate().map(|(index, tool)| {
            json!({
                "id": reply.call_id("call", index, tool),
                "type": "function",
                "function": {"name": tool.name, "arguments": tool.input},
            })
        });
        set(&mut message, "tool_calls", calls.collect::<Value>());
    }
    let choice = choice("message", &message, Some(finish(reply.stop())));
    completion(reply, "chat.completion", &[choice], Some(&usage(&reply.usage)))
}

fn choice(key: &str, content: &Value, finish: Option<&str>) -> Value {
    json!({"index": 0, key: content, "finish_reason": finish})
}

fn completion(reply: &Reply<'_>, object: &str, choices: &[Value], usage: Option<&Value>) -> Value {
    json!({
        "id": format!("chatcmpl_{}", reply.number),
        "object": object,
        "created": 0,
        "model": reply.model,
        "choices": choices,
        "usage": usage,
    })
}

fn finish(stop: StopReason) -> &'static str {
    match stop {
        StopReason::EndTurn | StopReason::StopSequence | StopReason::PauseTurn => "stop",
        StopReason::ToolUse => "tool_calls",
        StopReason::MaxTokens | StopReason::WindowExceeded => "length",
        StopReason::Refusal => "content_filter",
    }
}

/// Here cached tokens are part of the prompt, not beside it.
fn usage(usage: &Usage) -> Value {
    let prompt = usage.input_total().0;
    json!({
        "prompt_tokens": prompt,
        "completion_tokens": usage.output.0,
        "total_tokens": prompt.saturating_add(usage.output.0),
        "prompt_tokens_details": {"cached_tokens": usage.cache_read.0},
    })
}
