//! The rules of `POST /v1/messages`, checked on the body as the provider would see it. Written from
//! the provider's rules and apart from the encoder, so that neither repeats the other's mistakes.

use std::collections::BTreeSet;

use serde_json::Value;

/// Every rule the body breaks.
pub fn breaches(body: &[u8]) -> Vec<String> {
    let mut broken = Vec::new();
    if body.len() > 32_000_000 {
        broken.push("body too large".to_string());
    }
    let body: Value = match serde_json::from_slice(body) {
        Ok(body) => body,
        Err(error) => return vec![format!("not JSON: {error}")],
    };
    let empty = Vec::new();
    let messages = body["messages"].as_array().unwrap_or(&empty);
    if messages.is_empty() {
        broken.push("no messages".into());
    }
    let mut seen = BTreeSet::new();
    for (position, message) in messages.iter().enumerate() {
        let expected = if position % 2 == 0 { "user" } else { "assistant" };
        if message["role"] != expected {
            broken.push(format!("message {position} is not from the {expected}"));
        }
        let content = message["content"].as_array().unwrap_or(&empty);
        if content.is_empty() {
            broken.push(format!("message {position} is empty"));
        }
        let before = position.checked_sub(1).map(|at| call_ids(&messages[at])).unwrap_or_default();
        check_results(position, content, &before, &mut broken);
        let after = messages.get(position + 1).map(result_ids).unwrap_or_default();
        for id in call_ids(message) {
            if !after.contains(&id) {
                broken.push(format!("call {id} in message {position} has no result after it"));
            }
            if !is_name(&id) || !seen.insert(id.clone()) {
                broken.push(format!("call id {id} is illegal or used twice"));
            }
        }
        for block in content {
            check_block(position, expected, block, &mut broken);
        }
        if expected == "assistant" && content.last().is_some_and(is_reasoning) {
            broken.push(format!("message {position} ends in reasoning"));
        }
    }
    let last = messages.last().cloned().unwrap_or_default();
    let is_paused =
        last["content"].as_array().and_then(|content| content.last()).is_some_and(|block| {
            !matches!(block["type"].as_str(), Some("text" | "tool_use" | "thinking"))
        });
    if last["role"] != "user" && !is_paused {
        broken.push("ends with an answer".into());
    }
    check_whole(&body, &mut broken);
    broken
}

fn check_results(position: usize, content: &[Value], before: &[String], broken: &mut Vec<String>) {
    let mut others = false;
    let mut answered = BTreeSet::new();
    for block in content {
        if block["type"] != "tool_result" {
            others = true;
            continue;
        }
        if others {
            broken.push(format!("message {position}: a result after something else"));
        }
        let id = block["tool_use_id"].as_str().unwrap_or_default();
        if !before.iter().any(|call| call == id) || !answered.insert(id) {
            broken.push(format!("message {position}: result {id} answers nothing, or twice"));
        }
    }
}

fn check_block(position: usize, role: &str, block: &Value, broken: &mut Vec<String>) {
    let kind = block["type"].as_str().unwrap_or_default();
    let mut demand = |holds: bool, what: &str| {
        if !holds {
            broken.push(format!("message {position}, {kind}: {what}"));
        }
    };
    let is_text = |block: &Value| !block["text"].as_str().unwrap_or_default().trim().is_empty();
    match kind {
        "" => demand(false, "no type"),
        "text" => demand(is_text(block), "blank"),
        "thinking" => {
            demand(role == "assistant", "on the wrong side");
            demand(block["thinking"].is_string(), "no text");
            demand(block["signature"].as_str().is_some_and(|seal| !seal.is_empty()), "no seal");
        }
        "tool_use" => {
            demand(role == "assistant", "on the wrong side");
            demand(block["input"].is_object(), "arguments are no object");
            demand(block["name"].as_str().is_some_and(is_name), "illegal name");
        }
        "image" | "document" => demand(role == "user", "on the wrong side"),
        "tool_result" => {
            demand(role == "user", "on the wrong side");
            let parts = block["content"].as_array().cloned().unwrap_or_default();
            demand(!parts.is_empty(), "empty");
            for part in &parts {
                let is_media = matches!(part["type"].as_str(), Some("image" | "document"));
                demand(is_media || is_text(part), "blank part");
                demand(!is_media || block["is_error"] != true, "media in a failure");
            }
        }
        _ => demand(role == "assistant", "on the wrong side"),
    }
}

fn check_whole(body: &Value, broken: &mut Vec<String>) {
    let mut media = Vec::new();
    let mut marks = 0;
    walk(body, &mut |value| {
        marks += usize::from(value.get("cache_control").is_some());
        if matches!(value["type"].as_str(), Some("image" | "document")) {
            media.push(value["source"]["data"].as_str().unwrap_or_default().len());
            let media_type = value["source"]["media_type"].as_str().unwrap_or_default();
            let wanted = ["image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"];
            if !wanted.contains(&media_type) {
                broken.push(format!("media type {media_type}"));
            }
        }
    });
    if media.len() > 100 || media.iter().any(|bytes| *bytes > 10_000_000) {
        broken.push(format!("{} media items, or one too large", media.len()));
    }
    if marks > 4 {
        broken.push(format!("{marks} cache marks"));
    }
    let mut names = BTreeSet::new();
    let mut tools = body["tools"].as_array().cloned().unwrap_or_default();
    tools.retain(|tool| !super::is_servers(tool));
    for tool in tools {
        let schema = &tool["input_schema"];
        let is_plain = ["anyOf", "oneOf", "allOf"].iter().all(|word| schema.get(word).is_none());
        if schema["type"] != "object" || !is_plain {
            broken.push(format!("schema {schema}"));
        }
        let name = tool["name"].as_str().unwrap_or_default().to_string();
        if !is_name(&name) || !names.insert(name.clone()) {
            broken.push(format!("tool name {name}"));
        }
    }
    for piece in body["system"].as_array().cloned().unwrap_or_default() {
        if piece["text"].as_str().unwrap_or_default().trim().is_empty() {
            broken.push("blank system piece".into());
        }
    }
}

/// Visits every object.
fn walk(value: &Value, visit: &mut impl FnMut(&Value)) {
    match value {
        Value::Object(fields) => {
            visit(value);
            fields.values().for_each(|value| walk(value, visit));
        }
        Value::Array(items) => items.iter().for_each(|value| walk(value, visit)),
        _ => {}
    }
}

fn call_ids(message: &Value) -> Vec<String> {
    ids(message, "tool_use", "id")
}

fn result_ids(message: &Value) -> Vec<String> {
    ids(message, "tool_result", "tool_use_id")
}

fn ids(message: &Value, kind: &str, key: &str) -> Vec<String> {
    let content = message["content"].as_array().cloned().unwrap_or_default();
    content
        .iter()
        .filter(|block| block["type"] == kind)
        .map(|block| block[key].as_str().unwrap_or_default().to_string())
        .collect()
}

fn is_name(name: &str) -> bool {
    (1..=128).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

fn is_reasoning(block: &Value) -> bool {
    matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))
}
