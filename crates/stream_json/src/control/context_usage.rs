//! What fills the window, as clients draw it.

use serde_json::{Value, json};
use windlass_vocabulary::context_usage::{ContextComponent, ContextUsage};

use super::require_session;
use crate::event_loop::EventLoop;
use crate::session_phase::SESSION_OVER;
use windlass_project::memory;

/// The answer to `get_context_usage`.
pub(super) async fn build_context_usage(event_loop: &mut EventLoop) -> Result<Value, String> {
    let live = require_session(event_loop)?;
    let usage = live.session.inventory().await.ok_or(SESSION_OVER)?;
    let settings = live.session.settings().await.ok_or(SESSION_OVER)?;
    let tools = settings.tools.iter().filter_map(|spec| {
        let name = spec.name.as_str();
        let server = name.strip_prefix("mcp__")?.split("__").next()?;
        let bytes = spec.input_schema.as_str().len() + spec.description.len();
        let tokens = bytes / TOKEN_BYTES;
        Some(json!({ "name": name, "serverName": server, "tokens": tokens, "isLoaded": true }))
    });
    let agents = live.agents().iter().map(|agent| {
        let tokens = agent.description.len() / TOKEN_BYTES;
        json!({ "agentType": agent.name, "source": "session", "tokens": tokens })
    });
    let memory = settings.user_context.as_deref().unwrap_or_default();
    let memory = memory::list_memory_files(memory).into_iter().map(
        |file| json!({ "path": file.path, "type": file.kind, "tokens": file.bytes / TOKEN_BYTES }),
    );
    let memory: Value = memory.collect();
    let mut answer = usage_to_json(&usage);
    super::set_field(&mut answer, "memoryFiles", memory);
    super::set_field(&mut answer, "mcpTools", tools.collect());
    super::set_field(&mut answer, "agents", agents.collect());
    super::set_field(&mut answer, "isAutoCompactEnabled", settings.auto_compact.into());
    Ok(answer)
}

fn usage_to_json(usage: &ContextUsage) -> Value {
    let mut categories: Vec<Value> = usage
        .parts
        .iter()
        .map(|part| {
            json!({
                "id": category_id(&part.component), "name": category_name(&part.component), "tokens": part.tokens.0, "color": "", "kind": "used",
            })
        })
        .collect();
    categories.push(json!({
        "id": "free_space", "name": "Free space", "tokens": usage.free_tokens().0, "color": "",
        "kind": "free",
    }));
    let percentage = match usage.window.0 {
        0 => 0,
        window => (usage.total.0.saturating_mul(100) / window).min(100),
    };
    json!({
        "categories": categories,
        "totalTokens": usage.total.0,
        "maxTokens": usage.window.less(usage.reserved).0,
        "rawMaxTokens": usage.window.0,
        "autoCompactThreshold": usage.threshold.0,
        "percentage": percentage,
        "model": usage.model.as_str(),
        "memoryFiles": [],
        "mcpTools": [],
        "agents": [],
        "gridRows": build_grid(usage),
        "isAutoCompactEnabled": true,
        "apiUsage": null,
    })
}

/// The context window as squares: its components from the start, then the free part.
fn build_grid(usage: &ContextUsage) -> Vec<Vec<Value>> {
    let square = (usage.window.0 / SQUARES).max(1);
    let parts =
        usage.parts.iter().map(|part| (category_name(&part.component), part.tokens.0, true));
    // What each part does not fill of its last square is left to it; the rest is free.
    let rest = square.saturating_mul(SQUARES);
    let free = std::iter::once(("Free space".to_owned(), rest, false));
    let mut squares: Vec<Value> = Vec::new();
    for (name, tokens, is_filled) in parts.chain(free) {
        let mut left = tokens;
        let tokens = if is_filled { tokens } else { usage.free_tokens().0 };
        let percentage = tokens.saturating_mul(100) / usage.window.0.max(1);
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
fn category_id(component: &ContextComponent) -> &'static str {
    match component {
        ContextComponent::System => "system_prompt",
        ContextComponent::Tools => "system_tools",
        ContextComponent::Memory => "memory_files",
        ContextComponent::Pins
        | ContextComponent::Summaries
        | ContextComponent::Requests
        | ContextComponent::Answers
        | ContextComponent::Reasoning
        | ContextComponent::Results(_) => "messages",
    }
}

fn category_name(component: &ContextComponent) -> String {
    match component {
        ContextComponent::System => "System prompt".to_owned(),
        ContextComponent::Tools => "System tools".to_owned(),
        ContextComponent::Memory => "Memory files".to_owned(),
        ContextComponent::Pins => "Pins".to_owned(),
        ContextComponent::Summaries => "Summaries".to_owned(),
        ContextComponent::Requests => "Messages".to_owned(),
        ContextComponent::Answers => "Answers".to_owned(),
        ContextComponent::Reasoning => "Reasoning".to_owned(),
        ContextComponent::Results(tool) => format!("Results of {tool}"),
    }
}

/// Squares of the picture, and of one row.
const SQUARES: u64 = 100;
const SQUARES_WIDE: usize = 10;
/// Bytes that are counted as one token where only the length is known.
const TOKEN_BYTES: usize = 4;
