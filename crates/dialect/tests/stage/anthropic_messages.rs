//! Writes answers down as a server of `POST /v1/messages` would.

use serde_json::{Value, json};
use windlass_vocabulary::ModelStopReason;

use super::{Answer, Say};

/// One event with its name.
pub fn event(json: &Value) -> String {
    format!("event: {}\ndata: {json}\n\n", json["type"].as_str().unwrap_or_default())
}

/// Several events.
pub fn events(list: &[Value]) -> Vec<u8> {
    list.iter().map(event).collect::<String>().into_bytes()
}

pub fn start() -> Value {
    json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test",
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {"input_tokens": 25, "output_tokens": 1,
            "cache_creation_input_tokens": 7, "cache_read_input_tokens": 11}}})
}

pub fn block_start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

pub fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

pub fn block_stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

pub fn message_delta(stop_reason: &str) -> Value {
    json!({"type": "message_delta", "delta": {"stop_reason": stop_reason, "stop_sequence": null},
        "usage": {"output_tokens": 15}})
}

pub fn message_stop() -> Value {
    json!({"type": "message_stop"})
}

pub fn tell(answer: &Answer) -> Vec<u8> {
    let mut list = vec![start(), json!({"type": "ping"})];
    for (index, say) in answer.says.iter().enumerate() {
        let index = index as u64;
        match say {
            Say::Text(pieces) => {
                list.push(block_start(index, json!({"type": "text", "text": ""})));
                list.extend(
                    pieces
                        .iter()
                        .map(|text| delta(index, json!({"type": "text_delta", "text": text}))),
                );
            }
            Say::Thinking { pieces, seal } => {
                let block = json!({"type": "thinking", "thinking": "", "signature": ""});
                list.push(block_start(index, block));
                list.extend(
                    pieces.iter().map(|text| {
                        delta(index, json!({"type": "thinking_delta", "thinking": text}))
                    }),
                );
                list.push(delta(index, json!({"type": "signature_delta", "signature": seal})));
            }
            Say::Call { id, name, arguments } => {
                let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
                list.push(block_start(index, block));
                list.extend(arguments.iter().map(|json| {
                    delta(index, json!({"type": "input_json_delta", "partial_json": json}))
                }));
            }
        }
        list.push(block_stop(index));
    }
    let has_call = answer.says.iter().any(|say| matches!(say, Say::Call { .. }));
    list.push(message_delta(match answer.stop {
        ModelStopReason::EndTurn if has_call => "tool_use",
        ModelStopReason::EndTurn => "end_turn",
        ModelStopReason::OutputLimit => "max_tokens",
        ModelStopReason::WindowFull => "model_context_window_exceeded",
        ModelStopReason::Pause => "pause_turn",
        ModelStopReason::Refusal => "refusal",
    }));
    list.push(message_stop());
    events(&list)
}
