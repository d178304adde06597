//! What fills the window, as clients draw it.

use serde_json::{Value, json};
use windlass_vocabulary::inventory::{Component, Inventory};

/// The answer to `get_context_usage`.
pub(super) fn usage(found: &Inventory) -> Value {
    let mut categories: Vec<Value> = found
        .parts
        .iter()
        .map(|part| json!({ "name": name(&part.component), "tokens": part.tokens.0, "color": "" }))
        .collect();
    categories.push(json!({ "name": "Free space", "tokens": found.free().0, "color": "" }));
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
