//! The rules of `POST /v1/responses`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{check_tools, is_blank, is_name};

pub fn breaches(body: &[u8]) -> Vec<String> {
    let body: Value = match serde_json::from_slice(body) {
        Ok(body) => body,
        Err(error) => return vec![format!("not JSON: {error}")],
    };
    let mut broken = Vec::new();
    let items = body["input"].as_array().cloned().unwrap_or_default();
    let mut called: Vec<String> = Vec::new();
    let mut answered = BTreeSet::new();
    let mut images = 0;
    for (position, item) in items.iter().enumerate() {
        let kind = item["type"].as_str().unwrap_or_default();
        let mut demand = |holds: bool, what: &str| {
            if !holds {
                broken.push(format!("item {position} ({kind}): {what}"));
            }
        };
        match kind {
            "message" if item["role"] == "assistant" => {
                demand(item["content"].is_string() && !is_blank(&item["content"]), "blank");
            }
            "message" => {
                let parts = item["content"].as_array().cloned().unwrap_or_default();
                demand(!parts.is_empty(), "empty");
                demand(item["role"] == "user", "role");
                for part in &parts {
                    let is_text = part["type"] == "input_text";
                    let is_media =
                        matches!(part["type"].as_str(), Some("input_image" | "input_file"));
                    images += usize::from(is_media);
                    demand(!is_text || !is_blank(&part["text"]), "blank");
                    demand(is_text || is_media, "part");
                }
            }
            "function_call" => {
                let id = item["call_id"].as_str().unwrap_or_default().to_string();
                demand(is_name(&id, 64) && !called.contains(&id), "illegal or used id");
                demand(is_name(item["name"].as_str().unwrap_or_default(), 64), "name");
                let arguments = item["arguments"].as_str().unwrap_or_default();
                let parsed: Value = serde_json::from_str(arguments).unwrap_or_default();
                demand(parsed.is_object(), "arguments");
                called.push(id);
            }
            "function_call_output" => {
                let id = item["call_id"].as_str().unwrap_or_default().to_string();
                demand(called.contains(&id), "a result without a call");
                demand(answered.insert(id), "two results");
                let is_list = item["output"].as_array().is_some_and(|parts| !parts.is_empty());
                demand(is_list || !is_blank(&item["output"]), "blank");
                let parts = item["output"].as_array().cloned().unwrap_or_default();
                images += parts.iter().filter(|part| part["type"] == "input_image").count();
            }
            "reasoning" => {
                demand(!is_blank(&item["encrypted_content"]), "no seal");
                let next = items.get(position + 1).cloned().unwrap_or_default();
                let follows = matches!(next["type"].as_str(), Some("function_call" | "reasoning"))
                    || next["role"] == "assistant";
                demand(follows, "leads to nothing");
            }
            _ => demand(!kind.is_empty(), "no type"),
        }
    }
    for id in &called {
        if !answered.contains(id) {
            broken.push(format!("call {id} has no result"));
        }
    }
    let last = items.last().cloned().unwrap_or_default();
    if last["role"] != "user" && last["type"] != "function_call_output" {
        broken.push(format!("ends with {last}"));
    }
    if images > 100 {
        broken.push(format!("{images} images"));
    }
    let mut tools = body["tools"].as_array().cloned().unwrap_or_default();
    tools.retain(|tool| !super::is_servers(tool));
    let tools: Vec<(Value, Value)> =
        tools.iter().map(|tool| (tool["name"].clone(), tool["parameters"].clone())).collect();
    check_tools(&tools, 64, &mut broken);
    broken
}
