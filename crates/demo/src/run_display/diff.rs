//! The patch that a tool reports, as lines to display.

use serde_json::Value;
use windlass_vocabulary::Json;

use super::console_output::ConsoleStyle;
use windlass_host::display::strip_control_characters;

/// Empty if the tool reports no patch.
pub(super) fn render_patch_lines(structured: &Json) -> Vec<(ConsoleStyle, String)> {
    let Ok(value) = serde_json::from_str::<Value>(structured.as_str()) else {
        return Vec::new();
    };
    let hunks = value.get("structuredPatch").and_then(Value::as_array);
    let lines = hunks
        .into_iter()
        .flatten()
        .filter_map(|hunk| hunk.get("lines").and_then(Value::as_array))
        .flatten()
        .filter_map(Value::as_str);
    let style = |line: &str| match line.chars().next() {
        Some('+') => ConsoleStyle::Added,
        Some('-') => ConsoleStyle::Removed,
        _ => ConsoleStyle::Dim,
    };
    lines
        .take(LINES_MAX)
        .map(|line| (style(line), strip_control_characters(line).into_owned()))
        .collect()
}

const LINES_MAX: usize = 60;
