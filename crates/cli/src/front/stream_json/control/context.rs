//! What fills the window, as clients draw it.

use serde_json::{Value, json};
use windlass_vocabulary::inventory::{Component, Inventory};

use super::{OVER, opened};
use crate::front::stream_json::desk::Desk;
use crate::memory;

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
    let memory = settings.user_context.as_deref().unwrap_or_default();
    let memory = memory::listed(memory).into_iter().map(
        |(path, kind, bytes)| json!({ "path": path, "type": kind, "tokens": bytes / TOKEN_BYTES }),
    );
    let memory: Value = memory.collect();
    let mut usage = drawn(&found);
    super::set(&mut usage, "memoryFiles", memory);
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
        "gridRows": grid(found),
        "isAutoCompactEnabled": true,
        "apiUsage": null,
    })
}

/// The window as squares: what fills it from the start, one after the other, and what is free.
fn grid(found: &Inventory) -> Vec<Vec<Value>> {
    let square = (found.window.0 / SQUARES).max(1);
    let parts = found.parts.iter().map(|part| (name(&part.component), part.tokens.0, true));
    // What each part does not fill of its last square is left to it; the rest is free.
    let rest = square.saturating_mul(SQUARES);
    let free = std::iter::once(("Free space".to_owned(), rest, false));
    let mut squares: Vec<Value> = Vec::new();
    for (name, tokens, is_filled) in parts.chain(free) {
        let mut left = tokens;
        let tokens = if is_filled { tokens } else { found.free().0 };
        let percentage = tokens.saturating_mul(100) / found.window.0.max(1);
        while left > 0 && (squares.len() as u64) < SQUARES {
            let held = left.min(square);
            squares.push(json!({
                "color": "", "isFilled": is_filled, "categoryName": name, "tokens": tokens,
                "percentage": percentage, "squareFullness": held as f64 / square as f64,
            }));
            left -= held;
        }
    }
    squares.chunks(SQUARES_WIDE).map(<[Value]>::to_vec).collect()
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

/// Squares of the picture, and of one row.
const SQUARES: u64 = 100;
const SQUARES_WIDE: usize = 10;
/// Bytes that are counted as one token where only the length is known.
const TOKEN_BYTES: usize = 4;
