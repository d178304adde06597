//! Calls in lines: what is called, what came of it, and what an edit changed.

use serde_json::Value;
use windlass_permission::display;
use windlass_vocabulary::{Media, ResultPart, ToolCall, ToolOutcome};

use crate::line::{Line, Role};
use crate::{diff, text};

/// The call in one line; files below this folder by their names from there.
#[must_use]
pub fn title(call: &ToolCall, folder: &str) -> String {
    let shown = text::one_line(&shown(call));
    let below = shown.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
    format!("{}({})", call.name, below.filter(|_| !folder.is_empty()).unwrap_or(&shown))
}

/// What of a call's input people want to see, exactly as it is.
#[must_use]
pub fn shown(call: &ToolCall) -> String {
    let input: Value = serde_json::from_str(call.input.as_str()).unwrap_or_default();
    let field = FIELDS.iter().find_map(|field| input.get(field).and_then(Value::as_str));
    field.map_or_else(|| call.input.as_str().to_owned(), str::to_owned)
}

/// All of a call's input: a command as it is, everything else field by field.
#[must_use]
pub fn whole(call: &ToolCall) -> String {
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

/// The line a call that ended is folded into.
#[must_use]
pub fn head(call: &ToolCall, outcome: &ToolOutcome, folder: &str) -> Line {
    let (sign, role) = if outcome.is_error { ("✗ ", Role::Bad) } else { ("● ", Role::Good) };
    let mut line = Line::of(sign, role).and(title(call, folder), Role::Plain);
    if let Some(code) = exit_code(outcome) {
        line.push(format!("  exit {code}"), Role::Bad);
    }
    if outcome.took.0 >= 1_000 {
        line.push(format!("  {} s", outcome.took.0 / 1_000), Role::Quiet);
    }
    line
}

/// A call that ended.
#[must_use]
pub fn ended(call: &ToolCall, outcome: &ToolOutcome, (width, folder): (usize, &str)) -> Vec<Line> {
    let mut lines = vec![head(call, outcome, folder).cut(width)];
    let structured: Option<Value> = outcome
        .structured
        .as_ref()
        .and_then(|structured| serde_json::from_str(structured.as_str()).ok());
    let patch = structured.as_ref().and_then(|whole| whole.get("structuredPatch")?.as_array());
    match patch {
        Some(hunks) => lines.extend(diff::patch(hunks, width, CHANGES_MAX)),
        // What was read stands where it was read; a line says that it was.
        None if QUIET.contains(&call.name.as_str()) && !outcome.is_error => {}
        None => lines.extend(tail(outcome, width)),
    }
    let named = outcome.content.iter().filter_map(|part| match part {
        ResultPart::Media(named) => Some(media(named)),
        ResultPart::Text(_) => None,
    });
    lines.extend(named.map(|line| line.cut(width)));
    lines
}

/// A call that may not run.
#[must_use]
pub fn denied(call: &ToolCall, why: &str, (width, folder): (usize, &str)) -> Vec<Line> {
    let first = Line::of("✗ ", Role::Bad).and(title(call, folder), Role::Plain);
    let why = Line::of(format!("  {}", text::one_line(why)), Role::Quiet);
    vec![first.cut(width), why.cut(width)]
}

/// What somebody said, with a sign before it; of a long text so many lines.
#[must_use]
pub fn said(words: &str, width: usize, lines_max: usize) -> Vec<Line> {
    let cut = words.get(..words.floor_char_boundary(SAID_BYTES_MAX)).unwrap_or(words);
    let all = text::plain(cut, Role::User, width.saturating_sub(2));
    let signs = std::iter::once("> ").chain(std::iter::repeat("  "));
    let mut lines: Vec<Line> = signs
        .zip(all.iter().take(lines_max))
        .map(|(sign, line)| Line::of(sign, Role::Quiet).and(line.words(), Role::User))
        .collect();
    if all.len() > lines_max || cut.len() < words.len() {
        let count = words.lines().count();
        lines.push(Line::of(format!("  … {count} lines in all"), Role::Quiet));
    }
    lines
}

/// An image or a document by its name.
#[must_use]
pub fn media(media: &Media) -> Line {
    let name = if media.name.is_empty() { "no name" } else { &*media.name };
    Line::of(format!("  [{}: {}]", media.media_type, text::one_line(name)), Role::Link)
}

fn exit_code(outcome: &ToolOutcome) -> Option<u32> {
    outcome.content.iter().find_map(|part| match part {
        ResultPart::Text(text) => {
            let (_, rest) = text.rsplit_once("Exit code ")?;
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok().filter(|code| *code != 0)
        }
        ResultPart::Media(_) => None,
    })
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
        lines.push(Line::of(format!("  … {over} lines before; Ctrl-O shows them"), Role::Quiet));
    }
    let shown = whole.iter().skip(over);
    lines.extend(shown.map(|line| quoted(line, Role::Quiet).cut(width)));
    lines
}

/// What a tool or a file says, as it is but for what steers a terminal.
pub(crate) fn quoted(line: &str, role: Role) -> Line {
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
/// Tools whose results nobody reads here.
const QUIET: &[&str] = &["Read", "Glob", "Grep", "TodoWrite", "Skill", "WebFetch"];
const TAIL_MAX: usize = 4;
const CHANGES_MAX: usize = 40;
const SAID_BYTES_MAX: usize = 64 * 1024;
