//! The change a tool reports, as lines to show.

use serde_json::Value;
use windlass_vocabulary::Json;

use super::super::harmless;
use super::screen::Style;

/// The lines of the change, or nothing if the tool reports none.
pub(super) fn lines(structured: &Json) -> Vec<(Style, String)> {
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
        Some('+') => Style::Added,
        Some('-') => Style::Removed,
        _ => Style::Dim,
    };
    lines.take(LINES_MAX).map(|line| (style(line), harmless(line).into_owned())).collect()
}

const LINES_MAX: usize = 60;
