//! The rules of `…:streamGenerateContent`.

use serde_json::Value;

use super::{check_tools, is_blank, is_name};

pub fn breaches(body: &[u8]) -> Vec<String> {
    let body: Value = match serde_json::from_slice(body) {
        Ok(body) => body,
        Err(error) => return vec![format!("not JSON: {error}")],
    };
    let mut broken = Vec::new();
    let contents = body["contents"].as_array().cloned().unwrap_or_default();
    for (position, content) in contents.iter().enumerate() {
        let role = content["role"].as_str().unwrap_or_default();
        let mut demand = |holds: bool, what: &str| {
            if !holds {
                broken.push(format!("content {position} ({role}): {what}"));
            }
        };
        let before = position.checked_sub(1).map(|at| &contents[at]);
        demand(role == "user" || role == "model", "role");
        demand(role != "model" || before.is_some_and(|before| before["role"] == "user"), "turn");
        let parts = content["parts"].as_array().cloned().unwrap_or_default();
        demand(!parts.is_empty(), "empty");
        let calls = named(content, "functionCall");
        let results = named(content, "functionResponse");
        let open = before.map(|before| named(before, "functionCall")).unwrap_or_default();
        demand(open == results, "results do not match the calls before");
        demand(results.is_empty() || results.len() == parts.len(), "results and more");
        demand(calls.is_empty() || position + 1 < contents.len(), "calls at the end");
        for part in &parts {
            let is_sealed = !is_blank(&part["thoughtSignature"]);
            match part.as_object().and_then(|fields| fields.keys().next()).map(String::as_str) {
                Some("text") | Some("thoughtSignature") if part.get("text").is_some() => {
                    demand(is_sealed || !is_blank(&part["text"]), "blank");
                }
                Some("inlineData") => demand(role == "user", "media on the wrong side"),
                Some("functionCall") => {
                    demand(role == "model" && part["functionCall"]["args"].is_object(), "call");
                }
                Some("functionResponse") => {
                    let response = &part["functionResponse"]["response"];
                    demand(role == "user", "side");
                    demand(
                        !is_blank(&response["output"]) || !is_blank(&response["error"]),
                        "blank",
                    );
                }
                _ => demand(role == "model", "unknown part"),
            }
        }
    }
    if contents.last().is_none_or(|last| last["role"] != "user") {
        broken.push("does not end with the user".into());
    }
    let tools = body["tools"][0]["functionDeclarations"].as_array().cloned().unwrap_or_default();
    let tools: Vec<(Value, Value)> = tools
        .iter()
        .map(|tool| (tool["name"].clone(), tool["parametersJsonSchema"].clone()))
        .collect();
    check_tools(&tools, 64, &mut broken);
    broken
}

fn named(content: &Value, kind: &str) -> Vec<String> {
    let parts = content["parts"].as_array().cloned().unwrap_or_default();
    parts
        .iter()
        .filter_map(|part| part.get(kind))
        .map(|call| {
            let name = call["name"].as_str().unwrap_or_default();
            let id = call["id"].as_str().unwrap_or_default();
            assert!(is_name(name, 64) && is_name(id, 64), "{call}");
            format!("{id} {name}")
        })
        .collect()
}
