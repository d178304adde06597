//! What fills the window, as clients draw it.

use serde_json::{Value, json};
use windlass_vocabulary::inventory::{Component, Inventory};

use super::{OVER, opened};
use crate::front::stream_json::desk::Desk;

/// The answer to `get_context_usage`.
pub(super) async fn usage(desk: &mut Desk) -> Result<Value, String> {
    let stage = opened(desk)?;
    let found = stage.session.inventory().await.ok_or(OVER)?;
    let settings = stage.session.settings().await.ok_or(OVER)?;
    let tools = settings.tools.iter().filter_map(|spec| {
        let name = spec.name.as_str();
        let server = name.strip_prefix("mcp__")?.split("__").next()?;
        let bytes = spec.input_schema.as_str().len() + spec.description.len();
        let tokens = bytes / TOKEN_BYTES;
        Some(json!({ "name": name, "serverName": server, "tokens": tokens, "isLoaded": true }))
    });
    let agents = stage.agents().iter().map(|agent| {
        let tokens = agent.description.len() / TOKEN_BYTES;
        json!({ "agentType": agent.name, "source": "session", "tokens": tokens })
    });
    let mut usage = drawn(&found);
    super::set(&mut usage, "mcpTools", tools.collect());
    super::set(&mut usage, "agents", agents.collect());
    super::set(&mut usage, "isAutoCompactEnabled", settings.limits.auto_compact.into());
    Ok(usage)
}

fn drawn(found: &Inventory) -> Value {
    let mut categories: Vec<Value> = found
        .parts
        .iter()
        .map(|part| {
            let (id, name) = (id(&part.component), name(&part.component));
            json!({
                "id": id, "name": name, "tokens": part.tokens.0, "color": "", "kind": "used",
            })
        })
        .collect();
    categories.push(json!({
        "id": "free_space", "name": "Free space", "tokens": found.free().0, "color": "",
        "kind": "free",
    }));
    let percentage = match found.window.0 {
        0 => 0,
        window => (found.total.0.saturating_mul(100) / window).min(100),
    };
    json!({
        "categories": categories,
        "totalTokens": found.total.0,
        "maxTokens": found.window.less(found.reserved).0,
        "rawMaxTokens": found.window.0,
        "autoCompactThreshold": found.threshold.0,
        "percentage": percentage,
        "model": found.model.as_str(),
        "memoryFiles": [],
        "mcpTools": [],
        "agents": [],
        "gridRows": [],
        "isAutoCompactEnabled": true,
        "apiUsage": null,
    })
}

/// The name that clients match on.
fn id(component: &Component) -> &'static str {
    match component {
        Component::System => "system_prompt",
        Component::Tools => "system_tools",
        Component::Memory => "memory_files",
        _ => "messages",
    }
}

fn name(component: &Component) -> String {
    match component {
        Component::System => "System prompt".to_owned(),
        Component::Tools => "System tools".to_owned(),
        Component::Memory => "Memory files".to_owned(),
        Component::Pins => "Pins".to_owned(),
        Component::Summaries => "Summaries".to_owned(),
        Component::Requests => "Messages".to_owned(),
        Component::Answers => "Answers".to_owned(),
        Component::Reasoning => "Reasoning".to_owned(),
        Component::Results(tool) => format!("Results of {tool}"),
    }
}

/// Bytes that are counted as one token where only the length is known.
const TOKEN_BYTES: usize = 4;
