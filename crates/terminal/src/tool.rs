//! Calls in lines: what is called, what came of it, and what an edit changed.

use serde_json::Value;
use windlass_permission::display;
use windlass_vocabulary::{ResultPart, ToolCall, ToolOutcome};

use crate::line::{Line, Role};
use crate::text;

/// The call in one line.
#[must_use]
pub fn title(call: &ToolCall) -> String {
    format!("{}({})", call.name, text::one_line(&shown(call)))
}

/// What of a call's input people want to see, exactly as it is.
#[must_use]
pub fn shown(call: &ToolCall) -> String {
    let input: Value = serde_json::from_str(call.input.as_str()).unwrap_or_default();
    let field = FIELDS.iter().find_map(|field| input.get(field).and_then(Value::as_str));
    field.map_or_else(|| call.input.as_str().to_owned(), str::to_owned)
}

/// A call that ended.
#[must_use]
pub fn ended(call: &ToolCall, outcome: &ToolOutcome, width: usize) -> Vec<Line> {
    let (sign, role) = if outcome.is_error { ("✗ ", Role::Bad) } else { ("● ", Role::Good) };
    let took = outcome.took.0;
    let time = if took >= 1_000 { format!("  {} s", took / 1_000) } else { String::new() };
    let first = Line::of(sign, role).and(title(call), Role::Plain).and(time, Role::Quiet);
    let mut lines = vec![first.cut(width)];
    let structured: Option<Value> = outcome
        .structured
        .as_ref()
        .and_then(|structured| serde_json::from_str(structured.as_str()).ok());
    let patch = structured.as_ref().and_then(|whole| whole.get("structuredPatch")?.as_array());
    match patch {
        Some(hunks) => lines.extend(changed(hunks, width)),
        None => lines.extend(tail(outcome, width)),
    }
    lines
}

/// A call that may not run.
#[must_use]
pub fn denied(call: &ToolCall, why: &str, width: usize) -> Vec<Line> {
    let first = Line::of("✗ ", Role::Bad).and(title(call), Role::Plain);
    let why = Line::of(format!("  {}", text::one_line(why)), Role::Quiet);
    vec![first.cut(width), why.cut(width)]
}

/// The last lines of what it printed.
fn tail(outcome: &ToolOutcome, width: usize) -> Vec<Line> {
    let texts = outcome.content.iter().filter_map(|part| match part {
        ResultPart::Text(text) => Some(text.as_str()),
        ResultPart::Media(_) => None,
    });
    let whole: Vec<&str> =
        texts.flat_map(str::lines).filter(|line| !line.trim().is_empty()).collect();
    let over = whole.len().saturating_sub(TAIL_MAX);
    let mut lines = Vec::new();
    if over > 0 {
        lines.push(Line::of(format!("  … {over} lines before"), Role::Quiet));
    }
    let shown = whole.iter().skip(over);
    lines.extend(shown.map(|line| quoted(line, Role::Quiet).cut(width)));
    lines
}

/// What an edit changed.
fn changed(hunks: &[Value], width: usize) -> Vec<Line> {
    let all = hunks.iter().filter_map(|hunk| hunk.get("lines")?.as_array()).flatten();
    let all: Vec<&str> = all.filter_map(Value::as_str).collect();
    let shown = all.iter().take(CHANGES_MAX).map(|line| {
        let role = match line.chars().next() {
            Some('+') => Role::Good,
            Some('-') => Role::Bad,
            _ => Role::Quiet,
        };
        quoted(line, role).cut(width)
    });
    let mut lines: Vec<Line> = shown.collect();
    if all.len() > CHANGES_MAX {
        let more = all.len() - CHANGES_MAX;
        lines.push(Line::of(format!("  … {more} more lines"), Role::Quiet));
    }
    lines
}

/// What a tool or a file says, as it is but for what steers a terminal.
fn quoted(line: &str, role: Role) -> Line {
    Line::of(format!("  {}", display::cleaned(line).replace('\t', "    ")), role)
}

/// The field of an input that says most, by tool.
const FIELDS: &[&str] = &[
    "command",
    "file_path",
    "notebook_path",
    "pattern",
    "url",
    "query",
    "skill",
    "description",
    "prompt",
];
const TAIL_MAX: usize = 4;
const CHANGES_MAX: usize = 40;
