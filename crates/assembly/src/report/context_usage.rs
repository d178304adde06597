//! Shows the content of a session's context window as text: each component with a bar, then what
//! each level freed, then what was dropped.

use serde_json::{Value, json};
use windlass_vocabulary::Tokens;
use windlass_vocabulary::context_usage::{ContextComponent, ContextUsage};

use windlass_host::display::human_format::format_count;
use windlass_host::display::text_table::{ColumnAlignment, render_table};

pub fn render_context_usage(inventory: &ContextUsage) -> String {
    let ContextUsage { model, window, total, threshold, .. } = inventory;
    let mut text = format!(
        "{model}: {} of {} tokens ({}); summarised above {}.\n\n",
        format_count(total.0),
        format_count(window.0),
        format_percent(*total, *window),
        format_count(threshold.0)
    );
    let mut rows = vec![["part", "tokens", "share", "", "pieces"].map(str::to_owned)];
    for part in &inventory.parts {
        let pieces =
            if part.count > 1 { format_count(usize_to_u64(part.count)) } else { String::new() };
        rows.push(build_row(&component_label(&part.component), part.tokens, *window, pieces));
    }
    rows.push(build_row("reserved for the answer", inventory.reserved, *window, String::new()));
    rows.push(build_row("free", inventory.free_tokens(), *window, String::new()));
    text.push_str(&render_table(
        [
            ColumnAlignment::Left,
            ColumnAlignment::Right,
            ColumnAlignment::Right,
            ColumnAlignment::Left,
            ColumnAlignment::Right,
        ],
        &rows,
    ));
    text.push_str(&render_levels(inventory));
    text.push_str(&render_losses(inventory));
    text
}

pub fn context_usage_to_json(session: &str, inventory: &ContextUsage) -> Value {
    let mut object = json!({"session_id": session, "free": inventory.free_tokens().0});
    if let (Some(object), Ok(Value::Object(inventory))) =
        (object.as_object_mut(), serde_json::to_value(inventory))
    {
        object.extend(inventory);
    }
    object
}

fn build_row(name: &str, tokens: Tokens, window: Tokens, pieces: String) -> [String; 5] {
    // Half a sign is rounded up, so that something is never drawn as nothing.
    let signs = match window.0 {
        0 => 0,
        window => tokens.0.saturating_mul(2 * BAR_WIDTH).div_ceil(2 * window).min(BAR_WIDTH),
    };
    let bar = "█".repeat(usize::try_from(signs).unwrap_or(0));
    [name.to_owned(), format_count(tokens.0), format_percent(tokens, window), bar, pieces]
}

fn component_label(component: &ContextComponent) -> String {
    match component {
        ContextComponent::System => "system prompt".to_owned(),
        ContextComponent::Tools => "tools".to_owned(),
        ContextComponent::Memory => "memory".to_owned(),
        ContextComponent::Pins => "pins".to_owned(),
        ContextComponent::Summaries => "summaries".to_owned(),
        ContextComponent::Requests => "requests".to_owned(),
        ContextComponent::Answers => "answers".to_owned(),
        ContextComponent::Reasoning => "reasoning".to_owned(),
        ContextComponent::Results(tool) => format!("results of {tool}"),
    }
}

/// Percent with one decimal, in integers.
pub fn format_percent(part: Tokens, whole: Tokens) -> String {
    let tenths = part.0.saturating_mul(1_000).checked_div(whole.0).unwrap_or(0);
    format!("{}.{} %", tenths / 10, tenths % 10)
}

fn render_levels(inventory: &ContextUsage) -> String {
    let mut rows = Vec::new();
    for ((number, freed), what) in (1..).zip(&inventory.levels).zip(LEVEL_LABELS) {
        if freed.times > 0 {
            let times = format!("{} times", format_count(freed.times));
            let tokens = format!("{} tokens freed", format_count(freed.tokens.0));
            rows.push([format!("  level {number}"), what.to_owned(), times, tokens]);
        }
    }
    match rows.is_empty() {
        true => "\nNothing was left out so far.\n".to_owned(),
        false => {
            let sides = [
                ColumnAlignment::Left,
                ColumnAlignment::Left,
                ColumnAlignment::Right,
                ColumnAlignment::Right,
            ];
            format!("\nWhat was done to make room:\n{}", render_table(sides, &rows))
        }
    }
}

fn render_losses(inventory: &ContextUsage) -> String {
    if inventory.losses.is_empty() {
        return String::new();
    }
    let mut text = "\nWhat was left out, the oldest first:\n".to_owned();
    for loss in &inventory.losses {
        let freed = format_count(loss.freed.0);
        text.push_str(&format!("  level {} after {}, {freed} tokens", loss.level, loss.at));
        for what in &loss.what {
            text.push_str(&format!("\n    {}", windlass_host::command_error::to_single_line(what)));
        }
        text.push('\n');
    }
    text
}

fn usize_to_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

const BAR_WIDTH: u64 = 40;
const LEVEL_LABELS: [&str; 5] = [
    "long results kept on disk",
    "old turns left out",
    "old results shortened",
    "old steps collapsed",
    "history summarised",
];
