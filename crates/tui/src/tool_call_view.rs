//! How tool calls look: the call, its output, and the diff of an edit.

use serde_json::Value;
use windlass_permission::sanitize;
use windlass_vocabulary::{MediaContent, ToolCall, ToolOutcome, ToolResultPart};

use crate::styled_line::{StyledLine, TextStyle};
use crate::{diff, text};

/// The call in one line; paths are relative to `folder`.
pub fn format_title(call: &ToolCall, folder: &str) -> String {
    let shown = text::to_one_line(&extract_main_input(call));
    let below = shown.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
    format!("{}({})", call.name, below.filter(|_| !folder.is_empty()).unwrap_or(&shown))
}

/// The most telling field of the input, verbatim; all of it if there is none.
pub fn extract_main_input(call: &ToolCall) -> String {
    let input: Value = serde_json::from_str(call.input.as_str()).unwrap_or_default();
    let field = MAIN_FIELDS.iter().find_map(|field| input.get(field).and_then(Value::as_str));
    field.map_or_else(|| call.input.as_str().to_owned(), str::to_owned)
}

/// The whole input: a command verbatim, everything else field by field.
pub fn format_input(call: &ToolCall) -> String {
    let input: Value = serde_json::from_str(call.input.as_str()).unwrap_or_default();
    let Some(fields) = input.as_object() else { return call.input.as_str().to_owned() };
    let mut lines = String::new();
    for (name, value) in fields {
        match value.as_str() {
            Some(text) if name == "command" => lines.push_str(&format!("{text}\n")),
            Some(text) => lines.push_str(&format!("{name}: {text}\n")),
            None => lines.push_str(&format!("{name}: {value}\n")),
        }
    }
    lines
}

pub fn render_summary_line(call: &ToolCall, outcome: &ToolOutcome, folder: &str) -> StyledLine {
    let (sign, style) =
        if outcome.is_error { ("✗ ", TextStyle::Failure) } else { ("● ", TextStyle::Success) };
    let mut line =
        StyledLine::from_text(sign, style).with_span(format_title(call, folder), TextStyle::Plain);
    if let Some(code) = parse_exit_code(outcome) {
        line.push(format!("  exit {code}"), TextStyle::Failure);
    }
    if outcome.took.0 >= 1_000 {
        line.push(format!("  {} s", outcome.took.0 / 1_000), TextStyle::Dim);
    }
    line
}

pub fn render_ended_call(
    call: &ToolCall,
    outcome: &ToolOutcome,
    width: usize,
    folder: &str,
) -> Vec<StyledLine> {
    let mut lines = vec![render_summary_line(call, outcome, folder).truncate_to_width(width)];
    let structured: Option<Value> = outcome
        .structured
        .as_ref()
        .and_then(|structured| serde_json::from_str(structured.as_str()).ok());
    let patch = structured.as_ref().and_then(|whole| whole.get("structuredPatch")?.as_array());
    match patch {
        Some(hunks) => lines.extend(diff::render_patch(hunks, width, CHANGES_MAX)),
        None if TOOLS_WITHOUT_OUTPUT.contains(&call.name.as_str()) && !outcome.is_error => {}
        None => lines.extend(render_output_tail(outcome, width)),
    }
    let media = outcome.content.iter().filter_map(|part| match part {
        ToolResultPart::Media(media) => Some(render_media(media)),
        ToolResultPart::Text(_) => None,
    });
    lines.extend(media.map(|line| line.truncate_to_width(width)));
    lines
}

pub fn render_denied_call(
    call: &ToolCall,
    why: &str,
    width: usize,
    folder: &str,
) -> Vec<StyledLine> {
    let first = StyledLine::from_text("✗ ", TextStyle::Failure)
        .with_span(format_title(call, folder), TextStyle::Plain);
    let why = StyledLine::from_text(format!("  {}", text::to_one_line(why)), TextStyle::Dim);
    vec![first.truncate_to_width(width), why.truncate_to_width(width)]
}

pub fn render_media(media: &MediaContent) -> StyledLine {
    let name = if media.name.is_empty() { "no name" } else { &*media.name };
    StyledLine::from_text(
        format!("  [{}: {}]", media.media_type, text::to_one_line(name)),
        TextStyle::Link,
    )
}

/// The outcome carries no exit code: neither `ToolOutcome` nor the structured output of Bash, which is
/// part of the wire format, has a field for it. So it is parsed out of the text for the model.
fn parse_exit_code(outcome: &ToolOutcome) -> Option<u32> {
    outcome.content.iter().find_map(|part| match part {
        ToolResultPart::Text(text) => {
            let (_, rest) = text.rsplit_once("Exit code ")?;
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok().filter(|code| *code != 0)
        }
        ToolResultPart::Media(_) => None,
    })
}

fn render_output_tail(outcome: &ToolOutcome, width: usize) -> Vec<StyledLine> {
    let texts = outcome.content.iter().filter_map(|part| match part {
        ToolResultPart::Text(text) => Some(text.as_str()),
        ToolResultPart::Media(_) => None,
    });
    let all: Vec<&str> =
        texts.flat_map(str::lines).filter(|line| !line.trim().is_empty()).collect();
    let over = all.len().saturating_sub(TAIL_MAX);
    let mut lines = Vec::new();
    if over > 0 {
        lines.push(StyledLine::from_text(
            format!("  … {over} lines before; Ctrl-O shows them"),
            TextStyle::Dim,
        ));
    }
    let shown = all.iter().skip(over);
    lines.extend(
        shown.map(|line| render_output_line(line, TextStyle::Dim).truncate_to_width(width)),
    );
    lines
}

/// Removes control characters and nothing else.
pub(crate) fn render_output_line(line: &str, style: TextStyle) -> StyledLine {
    StyledLine::from_text(
        format!("  {}", sanitize::strip_control(line).replace('\t', "    ")),
        style,
    )
}

/// The fields that say most about a call, the best first.
const MAIN_FIELDS: &[&str] = &[
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
/// Tools whose output is not shown; the summary line is enough.
const TOOLS_WITHOUT_OUTPUT: &[&str] = &["Read", "Glob", "Grep", "TodoWrite", "Skill", "WebFetch"];
const TAIL_MAX: usize = 4;
const CHANGES_MAX: usize = 40;
