//! Writes answers down as a server of `POST /v1/responses` would.

use serde_json::{Value, json};
use windlass_vocabulary::ModelStopReason;

use super::{Answer, Say};

/// Several events, numbered.
pub fn events(list: &[Value]) -> Vec<u8> {
    let mut body = String::new();
    for (number, event) in list.iter().enumerate() {
        let mut event = event.clone();
        event["sequence_number"] = json!(number);
        let name = event["type"].as_str().unwrap_or_default();
        body.push_str(&format!("event: {name}\ndata: {event}\n\n"));
    }
    body.into_bytes()
}

pub fn created() -> Value {
    json!({"type": "response.created", "response": {"id": "resp_1", "model": "gpt-test",
        "status": "in_progress", "output": [], "usage": null}})
}

pub fn added(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.added", "output_index": index, "item": item})
}

pub fn done(index: u64, item: Value) -> Value {
    json!({"type": "response.output_item.done", "output_index": index, "item": item})
}

pub fn delta(kind: &str, index: u64, text: &str) -> Value {
    json!({"type": format!("response.{kind}.delta"), "output_index": index, "delta": text})
}

pub fn completed() -> Value {
    json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed",
        "usage": usage()}})
}

pub fn incomplete(reason: &str) -> Value {
    json!({"type": "response.incomplete", "response": {"id": "resp_1", "status": "incomplete",
        "incomplete_details": {"reason": reason}, "usage": usage()}})
}

fn usage() -> Value {
    json!({"input_tokens": 100, "output_tokens": 15,
        "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
        "output_tokens_details": {"reasoning_tokens": 5}})
}

pub fn message(text: &str) -> Value {
    json!({"type": "message", "id": "m", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

pub fn function_call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name,
        "arguments": arguments, "status": "completed"})
}

pub fn tell(answer: &Answer) -> Vec<u8> {
    let mut list = vec![created(), json!({"type": "response.in_progress", "response": {}})];
    for (index, say) in answer.says.iter().enumerate() {
        let index = index as u64;
        match say {
            Say::Text(pieces) => {
                list.push(added(index, message("")));
                list.extend(pieces.iter().map(|text| delta("output_text", index, text)));
                list.push(done(index, message(&pieces.concat())));
            }
            Say::Thinking { pieces, seal } => {
                let item = json!({"type": "reasoning", "id": "rs_1",
                    "summary": [{"type": "summary_text", "text": pieces.concat()}],
                    "encrypted_content": seal});
                list.push(added(index, json!({"type": "reasoning", "id": "rs_1", "summary": []})));
                list.extend(pieces.iter().map(|text| delta("reasoning_summary_text", index, text)));
                list.push(done(index, item));
            }
            Say::Call { id, name, arguments } => {
                list.push(added(index, function_call(id, name, "")));
                list.extend(
                    arguments.iter().map(|text| delta("function_call_arguments", index, text)),
                );
                list.push(done(index, function_call(id, name, &arguments.concat())));
            }
        }
    }
    list.push(match answer.stop {
        ModelStopReason::EndTurn | ModelStopReason::Pause | ModelStopReason::WindowFull => {
            completed()
        }
        ModelStopReason::OutputLimit => incomplete("max_output_tokens"),
        ModelStopReason::Refusal => incomplete("content_filter"),
    });
    events(&list)
}
