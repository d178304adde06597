//! The rules of `POST /v1/chat/completions`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{check_tools, is_blank, is_name};

pub fn breaches(body: &[u8]) -> Vec<String> {
    let body: Value = match serde_json::from_slice(body) {
        Ok(body) => body,
        Err(error) => return vec![format!("not JSON: {error}")],
    };
    let mut broken = Vec::new();
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let mut open: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut images = 0;
    let mut before = String::new();
    for (position, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        let mut demand = |holds: bool, what: &str| {
            if !holds {
                broken.push(format!("message {position} ({role}): {what}"));
            }
        };
        if role != "tool" {
            demand(open.is_empty(), "calls before it have no result");
        }
        match role {
            "system" => demand(position == 0 && !is_blank(&message["content"]), "misplaced"),
            "user" => {
                demand(before != "user", "the user twice in a row");
                match message["content"].as_array() {
                    None => demand(!is_blank(&message["content"]), "blank"),
                    Some(parts) => {
                        demand(!parts.is_empty(), "empty");
                        for part in parts {
                            let is_image = part["type"] == "image_url";
                            images += usize::from(is_image);
                            demand(is_image || !is_blank(&part["text"]), "blank part");
                        }
                    }
                }
            }
            "assistant" => {
                demand(before != "assistant" && before != "system", "out of turn");
                let calls = message["tool_calls"].as_array().cloned().unwrap_or_default();
                demand(!calls.is_empty() || !is_blank(&message["content"]), "says nothing");
                demand(message.get("tool_calls").is_none() || !calls.is_empty(), "no calls");
                for call in calls {
                    let id = call["id"].as_str().unwrap_or_default().to_string();
                    demand(is_name(&id, 40) && seen.insert(id.clone()), "illegal or used id");
                    let function = &call["function"];
                    demand(is_name(function["name"].as_str().unwrap_or_default(), 64), "name");
                    let arguments = function["arguments"].as_str().unwrap_or_default();
                    let parsed: Value = serde_json::from_str(arguments).unwrap_or_default();
                    demand(parsed.is_object(), "arguments");
                    open.push(id);
                }
            }
            "tool" => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                let place = open.iter().position(|call| call == id);
                demand(place.is_some(), "a result without a call");
                place.map(|place| open.remove(place));
                demand(!is_blank(&message["content"]), "blank");
            }
            _ => demand(false, "unknown role"),
        }
        before = role.to_string();
    }
    if !open.is_empty() || !matches!(before.as_str(), "user" | "tool") {
        broken.push(format!("ends with {before}"));
    }
    if images > 100 {
        broken.push(format!("{images} images"));
    }
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let tools: Vec<(Value, Value)> = tools
        .iter()
        .map(|tool| (tool["function"]["name"].clone(), tool["function"]["parameters"].clone()))
        .collect();
    check_tools(&tools, 64, &mut broken);
    broken
}
