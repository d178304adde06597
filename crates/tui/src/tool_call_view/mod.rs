//! How tool calls look: the call, its output, and the diff of an edit.

mod planning_calls;

use serde_json::Value;
use windlass_permission::sanitize;
use windlass_vocabulary::{Json, MediaContent, ToolCall, ToolOutcome, ToolResultPart};

use crate::diff::DiffView;
use crate::styled_line::{StyledLine, TextStyle};
use crate::{diff, text, words};
use planning_calls::PlanningCall;

/// The call in one line; paths are relative to `folder`.
pub(crate) fn format_title(call: &ToolCall, folder: &str) -> String {
    if let Some(planning) = PlanningCall::parse(call) {
        return planning.title();
    }
    let shown = text::join_lines(&extract_main_input(call));
    let below = shown.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
    format!("{}({})", call.name, below.filter(|_| !folder.is_empty()).unwrap_or(&shown))
}

/// The most informative field of the input, unchanged; all fields if there is none.
pub(crate) fn extract_main_input(call: &ToolCall) -> String {
    let input: Value = serde_json::from_str(call.input.as_str()).unwrap_or_default();
    let field = MAIN_FIELDS.iter().find_map(|field| input.get(field).and_then(Value::as_str));
    if let Some(field) = field {
        return field.to_owned();
    }
    let Some(fields) = input.as_object() else { return call.input.as_str().to_owned() };
    let fields = fields.iter().map(|(name, value)| match value.as_str() {
        Some(text) => format!("{name}: {text}"),
        None => format!("{name}: {value}"),
    });
    fields.collect::<Vec<_>>().join(", ")
}

/// The input without what the title says in full: a command verbatim, everything else field by field.
pub(crate) fn format_input(call: &ToolCall) -> String {
    let input: Value = serde_json::from_str(call.input.as_str()).unwrap_or_default();
    let Some(fields) = input.as_object() else { return call.input.as_str().to_owned() };
    let main = extract_main_input(call);
    let is_in_title = text::to_one_line(&main) == sanitize::escape_invisible(&main);
    let mut lines = String::new();
    for (name, value) in fields {
        match value.as_str() {
            Some(text) if is_in_title && text == main => {}
            Some(text) if name == "command" => lines.push_str(&format!("{text}\n")),
            Some(text) => lines.push_str(&format!("{name}: {text}\n")),
            None => lines.push_str(&format!("{name}: {value}\n")),
        }
    }
    lines
}

/// The whole input, what says most about it first.
pub(crate) fn format_whole_input(call: &ToolCall) -> String {
    let input: Value = serde_json::from_str(call.input.as_str()).unwrap_or_default();
    let main = extract_main_input(call);
    let rest = format_input(call);
    let is_field = MAIN_FIELDS.iter().any(|field| input.get(field).is_some_and(Value::is_string));
    match is_field && !rest.contains(&main) {
        true => format!("{main}\n{rest}"),
        false => rest,
    }
}

pub(crate) fn render_summary_line(
    call: &ToolCall,
    outcome: &ToolOutcome,
    folder: &str,
) -> StyledLine {
    let (sign, style) =
        if outcome.is_error { ("✗ ", TextStyle::Failure) } else { ("● ", TextStyle::Success) };
    let mut line =
        StyledLine::from_text(sign, style).with_span(format_title(call, folder), TextStyle::Plain);
    if let Some(hunks) = parse_patch(outcome) {
        diff::count_changes(&hunks).push_to(&mut line);
    } else if let Some(content) = find_new_content(call, outcome) {
        line.push(format!("  +{}", content.lines().count()), TextStyle::Success);
    }
    if let Some(code) = parse_exit_code(outcome) {
        line.push(format!("  exit {code}"), TextStyle::Failure);
    }
    if outcome.took.0 >= 1_000 {
        let seconds = std::time::Duration::from_millis(outcome.took.0);
        line.push(format!("  {}", words::format_elapsed(seconds)), TextStyle::Dim);
    }
    line
}

/// Is what the call changed on the screen with it?
pub(crate) fn shows_change(call: &ToolCall, outcome: &ToolOutcome) -> bool {
    // A new file has no patch, and the call shows its name.
    call.name.as_str() == "Write" || parse_patch(outcome).is_some()
}

pub(crate) fn render_ended_call(
    call: &ToolCall,
    outcome: &ToolOutcome,
    width: usize,
    folder: &str,
) -> Vec<StyledLine> {
    let mut lines = render_summary_line(call, outcome, folder).wrap_to(width, 2, TITLE_LINES_MAX);
    if let Some(planning) = PlanningCall::parse(call).filter(|_| !outcome.is_error) {
        lines.extend(planning.render_body(outcome, width));
        return lines;
    }
    match parse_patch(outcome) {
        Some(hunks) => {
            lines.extend(diff::render_patch(&hunks, &extract_main_input(call), width, CHANGES_MAX));
        }
        None if TOOLS_WITHOUT_OUTPUT.contains(&call.name.as_str()) && !outcome.is_error => {}
        None => {
            lines.extend(match (describe_background(outcome), find_new_content(call, outcome)) {
                // The text is for the model: it names tools that only the model has.
                (Some(words), _) => render_output_line(&words, TextStyle::Dim).wrap(width, 2),
                (None, Some(content)) => {
                    let path = extract_main_input(call);
                    diff::render_diff("", &content, &DiffView::new(&path, width), NEW_LINES_MAX)
                }
                (None, None) => render_output_tail(outcome, width),
            });
        }
    }
    let media = outcome.content.iter().filter_map(|part| match part {
        ToolResultPart::Media(media) => Some(render_media(media)),
        ToolResultPart::Text(_) => None,
    });
    lines.extend(media.map(|line| line.truncate_to_width(width)));
    lines
}

/// The call with its whole input and output.
pub(crate) fn render_unfolded_call(
    call: &ToolCall,
    outcome: &ToolOutcome,
    width: usize,
    folder: &str,
) -> Vec<StyledLine> {
    let mut lines = render_summary_line(call, outcome, folder).wrap(width, 2);
    if let Some(planning) = PlanningCall::parse(call).filter(|_| !outcome.is_error) {
        lines.extend(planning.render_body(outcome, width));
        return lines;
    }
    if let Some(hunks) = parse_patch(outcome) {
        lines.extend(diff::render_patch(&hunks, &extract_main_input(call), width, usize::MAX));
        return lines;
    }
    match parse_replacement(call) {
        Some((old, new)) => {
            let path = extract_main_input(call);
            let view = DiffView::new(&path, width).without_numbers();
            lines.extend(diff::render_diff(&old, &new, &view, usize::MAX));
        }
        None => {
            let input = sanitize::escape_invisible(&format_input(call));
            lines.extend(render_indented(&input, TextStyle::Code, width));
        }
    }
    if let Some(words) = describe_background(outcome) {
        lines.extend(render_indented(&words, TextStyle::Dim, width));
        return lines;
    }
    let exit_line = parse_exit_code(outcome).map(|code| format!("Exit code {code}"));
    for part in &outcome.content {
        match part {
            ToolResultPart::Text(words) => {
                let words = sanitize::strip_control(words);
                // The summary line says how it ended.
                let words = exit_line
                    .as_deref()
                    .and_then(|line| words.strip_prefix(line)?.strip_prefix('\n'))
                    .unwrap_or(&words);
                lines.extend(render_indented(words, TextStyle::Dim, width));
            }
            ToolResultPart::Media(media) => lines.push(render_media(media)),
        }
    }
    lines
}

pub(crate) fn render_indented(
    words: &str,
    style: TextStyle,
    width: usize,
) -> impl Iterator<Item = StyledLine> {
    let lines = text::render_plain(words, style, width.saturating_sub(2));
    lines.into_iter().map(|line| line.indent(2))
}

/// The hunks of a finished edit.
fn parse_patch(outcome: &ToolOutcome) -> Option<Vec<Value>> {
    let structured = outcome.structured.as_ref()?;
    let mut whole: Value = serde_json::from_str(structured.as_str()).ok()?;
    match whole.get_mut("structuredPatch")?.take() {
        Value::Array(hunks) if !hunks.is_empty() => Some(hunks),
        _ => None,
    }
}

/// What is in a file that the call created.
fn find_new_content(call: &ToolCall, outcome: &ToolOutcome) -> Option<String> {
    let structured: Value = serde_json::from_str(outcome.structured.as_ref()?.as_str()).ok()?;
    let is_new = structured.get("type").and_then(Value::as_str) == Some("create");
    let input: Value = serde_json::from_str(call.input.as_str()).ok()?;
    input.get("content")?.as_str().filter(|_| is_new).map(str::to_owned)
}

/// The old and the new text of an edit that was not made.
fn parse_replacement(call: &ToolCall) -> Option<(String, String)> {
    let input: Value = serde_json::from_str(call.input.as_str()).ok()?;
    let text = |field: &str| input.get(field)?.as_str().map(str::to_owned);
    Some((text("old_string")?, text("new_string")?))
}

/// What to say of a call that started a command or an agent in the background.
fn describe_background(outcome: &ToolOutcome) -> Option<String> {
    let structured = outcome.structured.as_ref()?;
    let whole: Value = serde_json::from_str(structured.as_str()).ok()?;
    let id = match whole.get("status").and_then(Value::as_str) {
        Some("async_launched") => whole.get("agentId"),
        Some(_) | None => whole.get("backgroundTaskId"),
    };
    Some(words::describe_background_start(&text::to_one_line(id?.as_str()?)))
}

/// What is kept of the structured output for the transcript: it may hold whole files.
pub(crate) fn reduce_structured(outcome: &ToolOutcome) -> Option<Json> {
    let structured = outcome.structured.as_ref()?;
    let whole: Value = serde_json::from_str(structured.as_str()).ok()?;
    let kept: serde_json::Map<String, Value> = STRUCTURED_FIELDS_KEPT
        .iter()
        .filter_map(|field| Some(((*field).to_owned(), whole.get(field)?.clone())))
        .collect();
    let kept = Value::Object(kept).to_string();
    (kept.len() <= STRUCTURED_BYTES_MAX).then(|| Json::from_checked(&kept))
}

pub(crate) fn render_denied_call(
    call: &ToolCall,
    why: &str,
    width: usize,
    folder: &str,
) -> Vec<StyledLine> {
    let first = StyledLine::from_text("✗ ", TextStyle::Failure)
        .with_span(format_title(call, folder), TextStyle::Plain);
    let why = StyledLine::from_text(format!("  {}", text::to_one_line(why)), TextStyle::Dim);
    let mut lines = first.wrap_to(width, 2, TITLE_LINES_MAX);
    lines.extend(why.wrap(width, 2));
    lines
}

pub(crate) fn render_media(media: &MediaContent) -> StyledLine {
    let words = match media.name.is_empty() {
        true => format!("  [{}]", media.media_type),
        false => format!("  [{}: {}]", media.media_type, text::to_one_line(&media.name)),
    };
    StyledLine::from_text(words, TextStyle::Link)
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
    // The summary line says it already.
    let exit_line = parse_exit_code(outcome).map(|code| format!("Exit code {code}"));
    let saved = SavedOutput::parse(outcome);
    let saved_line = saved.as_ref().map(SavedOutput::line_for_model);
    let all: Vec<&str> = texts
        .flat_map(str::lines)
        .filter(|line| !line.trim().is_empty())
        .filter(|line| ![&exit_line, &saved_line].contains(&&Some((*line).to_owned())))
        .collect();
    // A sentence about what went wrong, and what to do.
    if let ([sentence], true) = (all.as_slice(), outcome.is_error) {
        return render_output_line(sentence, TextStyle::Dim).wrap_to(width, 2, FAILURE_LINES_MAX);
    }
    let over = all.len().saturating_sub(TAIL_MAX);
    let mut lines = Vec::new();
    if over > 0 {
        let folded = match saved {
            // The model got a part of it, and the lines of that count for nothing.
            Some(_) => words::FOLDED_SAVED_OUTPUT.to_owned(),
            None => words::describe_folded_output(over),
        };
        lines.extend(StyledLine::from_text(format!("  {folded}"), TextStyle::Dim).wrap(width, 2));
    }
    let shown = all.iter().skip(over);
    lines.extend(
        shown.map(|line| render_output_line(line, TextStyle::Dim).truncate_to_width(width)),
    );
    if let Some(SavedOutput { path, bytes }) = &saved {
        let words = words::describe_saved_output(*bytes, path);
        lines.extend(render_output_line(&words, TextStyle::Dim).wrap(width, 2));
    }
    lines
}

/// The file that has all that a command wrote.
struct SavedOutput {
    path: String,
    bytes: u64,
}

impl SavedOutput {
    fn parse(outcome: &ToolOutcome) -> Option<Self> {
        let structured = outcome.structured.as_ref()?;
        let whole: Value = serde_json::from_str(structured.as_str()).ok()?;
        let path = whole.get("persistedOutputPath")?.as_str()?.to_owned();
        Some(Self { path, bytes: whole.get("persistedOutputSize")?.as_u64()? })
    }

    /// The text for the model.
    fn line_for_model(&self) -> String {
        format!("[All {} bytes are in {}]", self.bytes, self.path)
    }
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
    "subject",
    "description",
    "prompt",
    "task_id",
];
/// Tools whose output is not shown; the summary line is enough.
const TOOLS_WITHOUT_OUTPUT: &[&str] = &["Read", "Glob", "Grep", "TodoWrite", "Skill", "WebFetch"];
const TITLE_LINES_MAX: usize = 3;
const FAILURE_LINES_MAX: usize = 3;
/// A patch, whether a file is new, the answers to questions, and what was started in the background.
const STRUCTURED_FIELDS_KEPT: [&str; 6] =
    ["structuredPatch", "type", "answers", "backgroundTaskId", "status", "agentId"];
const STRUCTURED_BYTES_MAX: usize = 128 * 1024;
const TAIL_MAX: usize = 4;
const CHANGES_MAX: usize = 40;
/// Of a new file: the user saw all of it in the question, or let it be written unseen.
const NEW_LINES_MAX: usize = 10;

#[cfg(test)]
mod tests {
    use windlass_vocabulary::Json;

    use super::*;

    #[test]
    fn the_field_that_tells_most_is_the_title() {
        let cases = [
            ("Bash", r#"{"description":"List","command":"ls"}"#, "Bash(ls)"),
            ("TaskCreate", r#"{"description":"all of it","subject":"fix"}"#, "TaskCreate(fix)"),
            ("Read", r#"{"file_path":"/w/src/a.rs"}"#, "Read(src/a.rs)"),
            ("Odd", r#"{"one":1,"two":"2"}"#, "Odd(one: 1, two: 2)"),
        ];
        for (name, input, title) in cases {
            assert_eq!(format_title(&build_call(name, input), "/w"), title);
        }
    }

    fn build_call(name: &str, input: &str) -> ToolCall {
        let input = Json::from_checked(input);
        ToolCall { id: "c".into(), name: name.into(), input, signature: None }
    }

    fn join(lines: &[StyledLine]) -> String {
        lines.iter().map(|line| line.plain_text() + "\n").collect()
    }

    #[test]
    fn what_runs_in_the_background_is_said_to_people() {
        let call = build_call("Bash", r#"{"command":"sleep 60"}"#);
        for structured in [
            r#"{"stdout":"","backgroundTaskId":"b1"}"#,
            r#"{"status":"async_launched","agentId":"b1","prompt":"p"}"#,
        ] {
            let mut outcome = ToolOutcome::from_text("Wait for it with Monitor.");
            outcome.structured = Some(Json::from_checked(structured));
            let shown = join(&render_ended_call(&call, &outcome, 80, ""));
            outcome.structured = reduce_structured(&outcome);
            let unfolded = join(&render_unfolded_call(&call, &outcome, 80, ""));
            for shown in [shown, unfolded] {
                assert!(shown.contains("Runs in the background as b1 · /tasks"), "{shown}");
                assert!(!shown.contains("Monitor"), "{shown}");
            }
        }
    }

    #[test]
    fn a_saved_output_is_named_in_full() {
        let call = build_call("Bash", r#"{"command":"seq 9"}"#);
        let mut outcome =
            ToolOutcome::from_text("1\n2\n3\n4\n5\n[All 4096 bytes are in /tmp/out/b1]");
        outcome.structured = Some(Json::from_checked(
            r#"{"persistedOutputPath":"/tmp/out/b1","persistedOutputSize":4096}"#,
        ));
        let shown = join(&render_ended_call(&call, &outcome, 80, ""));
        assert!(shown.contains("\n  … only the end is shown"), "{shown}");
        assert!(shown.ends_with("  5\n  All of it (4 KiB): /tmp/out/b1\n"), "{shown}");
        let narrow = join(&render_ended_call(&call, &outcome, 24, ""));
        let narrow = narrow.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            narrow.contains("(Ctrl-O shows more)") && narrow.contains("/tmp/out/b1"),
            "{narrow}"
        );
    }

    #[test]
    fn an_edit_that_failed_is_unfolded_as_a_diff() {
        let call = build_call(
            "Edit",
            r#"{"file_path":"a.py","old_string":"x = 1\n","new_string":"x = 2\n"}"#,
        );
        let outcome = ToolOutcome::failure("It was not read yet.");
        let shown = join(&render_unfolded_call(&call, &outcome, 80, ""));
        assert!(shown.contains("  -x = 1\n  +x = 2\n  It was not read yet."), "{shown}");
    }
}
