//! Writes answers down as a server of `POST /v1/chat/completions` would.

use serde_json::{Value, json};
use windlass_vocabulary::ModelStopReason;

use super::{Answer, Say};

/// Several chunks, then the end marker.
pub fn chunks(list: &[Value]) -> Vec<u8> {
    let mut body = open_chunks(list);
    body.extend(b"data: [DONE]\n\n");
    body
}

/// Several chunks.
pub fn open_chunks(list: &[Value]) -> Vec<u8> {
    list.iter().map(|chunk| format!("data: {chunk}\n\n")).collect::<String>().into_bytes()
}

pub fn chunk(delta: Value) -> Value {
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "gpt-test",
        "choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

pub fn finish(reason: &str) -> Value {
    json!({"id": "chatcmpl-1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

pub fn usage() -> Value {
    json!({"id": "chatcmpl-1", "choices": [], "usage": {"prompt_tokens": 100,
        "completion_tokens": 15, "prompt_tokens_details": {"cached_tokens": 60}}})
}

pub fn call_piece(index: u64, call: Value) -> Value {
    let mut call = call;
    call["index"] = json!(index);
    chunk(json!({"tool_calls": [call]}))
}

pub fn tell(answer: &Answer) -> Vec<u8> {
    let mut list = vec![chunk(json!({"role": "assistant", "content": ""}))];
    let mut calls = 0;
    for say in &answer.says {
        match say {
            Say::Text(pieces) => {
                list.extend(pieces.iter().map(|text| chunk(json!({"content": text}))));
            }
            Say::Thinking { pieces, .. } => {
                list.extend(pieces.iter().map(|text| chunk(json!({"reasoning_content": text}))));
            }
            Say::Call { id, name, arguments } => {
                list.push(call_piece(
                    calls,
                    json!({"id": id, "type": "function",
                    "function": {"name": name, "arguments": ""}}),
                ));
                list.extend(
                    arguments
                        .iter()
                        .map(|piece| call_piece(calls, json!({"function": {"arguments": piece}}))),
                );
                calls += 1;
            }
        }
    }
    list.push(finish(match answer.stop {
        ModelStopReason::EndTurn if calls > 0 => "tool_calls",
        ModelStopReason::EndTurn | ModelStopReason::Pause => "stop",
        ModelStopReason::OutputLimit => "length",
        ModelStopReason::WindowFull => "model_length",
        ModelStopReason::Refusal => "content_filter",
    }));
    list.push(usage());
    chunks(&list)
}
