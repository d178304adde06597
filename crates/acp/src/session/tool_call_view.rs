//! A tool call as an editor shows it: a title, a kind, the files it touches, and its change as a diff.

use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_host::display::tool_call_summary::summarize_tool_call;
use windlass_vocabulary::{ToolCall, ToolOutcome, ToolResultPart};

use crate::schema::{
    AcpContent, FileLocation, PlanEntry, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolKind,
};

/// The call before it runs, in a session of this directory. A write is shown beside what it would
/// overwrite.
pub(super) fn describe_call(call: &ToolCall, status: ToolCallStatus, cwd: &Path) -> ToolCallUpdate {
    describe(call, status, cwd, read_small_file)
}

/// A call of an earlier run. What it overwrote is not known any more.
pub(super) fn describe_past_call(call: &ToolCall, cwd: &Path) -> ToolCallUpdate {
    describe(call, ToolCallStatus::Pending, cwd, |_| None)
}

fn describe(
    call: &ToolCall,
    status: ToolCallStatus,
    cwd: &Path,
    read_old_text: impl Fn(&Path) -> Option<String>,
) -> ToolCallUpdate {
    let input: Value = serde_json::from_str(call.input.as_str()).unwrap_or_default();
    let content = describe_change(call.name.as_str(), &input, cwd, read_old_text);
    ToolCallUpdate {
        tool_call_id: call.id.as_str().to_owned(),
        title: Some(call_title(call, &input)),
        name: Some(call.name.as_str().to_owned()),
        kind: Some(tool_kind(call.name.as_str())),
        status: Some(status),
        content: Some(content).filter(|content| !content.is_empty()),
        locations: Some(list_locations(&input, cwd)).filter(|locations| !locations.is_empty()),
        raw_input: Some(input),
        raw_output: None,
    }
}

/// The call when it has ended. A change that was shown stays; other calls show their output.
pub(super) fn describe_outcome(
    id: &str,
    outcome: &ToolOutcome,
    shows_change: bool,
) -> ToolCallUpdate {
    let status = if outcome.is_error { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
    let keeps_change = shows_change && !outcome.is_error;
    ToolCallUpdate {
        tool_call_id: id.to_owned(),
        status: Some(status),
        content: (!keeps_change).then(|| describe_result(&outcome.content)),
        raw_output: outcome
            .structured
            .as_ref()
            .and_then(|json| serde_json::from_str(json.as_str()).ok()),
        ..ToolCallUpdate::default()
    }
}

pub(super) fn describe_result(parts: &[ToolResultPart]) -> Vec<ToolCallContent> {
    let to_content = |part: &ToolResultPart| match part {
        ToolResultPart::Text(text) => ToolCallContent::text(text.as_str()),
        ToolResultPart::Media(media) if media.media_type.starts_with("image/") => {
            let data = media.data.to_string();
            let mime_type = media.media_type.to_string();
            ToolCallContent::Content { content: AcpContent::Image { data, mime_type } }
        }
        ToolResultPart::Media(media) => ToolCallContent::text(format!("[{}]", media.name)),
    };
    parts.iter().map(to_content).collect()
}

/// Does the call show a change that should stay when it has ended?
pub(super) fn shows_change(call: &ToolCall) -> bool {
    tool_kind(call.name.as_str()) == ToolKind::Edit
}

pub(super) fn tool_kind(name: &str) -> ToolKind {
    match name {
        "Read" | "ReadMcpResource" => ToolKind::Read,
        "Edit" | "Write" | "NotebookEdit" => ToolKind::Edit,
        "Grep" | "Glob" | "LS" | "ToolSearch" => ToolKind::Search,
        "Bash" | "BashOutput" | "KillShell" | "Monitor" => ToolKind::Execute,
        "WebFetch" | "WebSearch" => ToolKind::Fetch,
        "Agent" | "Task" | "TodoWrite" | "Skill" => ToolKind::Think,
        "EnterPlanMode" | "ExitPlanMode" => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

/// The steps of a `TodoWrite` call.
pub(super) fn parse_plan(call: &ToolCall) -> Option<Vec<PlanEntry>> {
    if call.name.as_str() != "TodoWrite" {
        return None;
    }
    let input: Value = serde_json::from_str(call.input.as_str()).ok()?;
    let to_entry = |todo: &Value| {
        let text = |key: &str| todo.get(key).and_then(Value::as_str);
        Some(PlanEntry {
            content: text("content")?.to_owned(),
            priority: match text("priority") {
                Some("high") => "high",
                Some("low") => "low",
                _ => "medium",
            },
            status: match text("status") {
                Some("in_progress") => "in_progress",
                Some("completed") => "completed",
                _ => "pending",
            },
        })
    };
    Some(input.get("todos")?.as_array()?.iter().filter_map(to_entry).collect())
}

fn call_title(call: &ToolCall, input: &Value) -> String {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    match (call.name.as_str(), text("command"), text("plan")) {
        // What is shown is what runs: the whole command, in a form the editor does not interpret.
        ("Bash", Some(command), _) => format!("`{}`", command.replace('`', "\\`")),
        ("ExitPlanMode", _, Some(_)) => "Approve the plan".to_owned(),
        _ => summarize_tool_call(call, TITLE_CHARS_MAX),
    }
}

fn describe_change(
    name: &str,
    input: &Value,
    cwd: &Path,
    read_old_text: impl Fn(&Path) -> Option<String>,
) -> Vec<ToolCallContent> {
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let path = text("file_path").or(text("notebook_path")).unwrap_or_default();
    let path = absolute_path(path, cwd);
    let diff = |old_text: Option<&str>, new_text: &str| ToolCallContent::Diff {
        path: path.to_string_lossy().into_owned(),
        old_text: old_text.filter(|old| !old.is_empty()).map(str::to_owned),
        new_text: new_text.to_owned(),
    };
    match (name, text("new_string"), text("content"), text("plan"), text("description")) {
        ("Edit", Some(new), ..) => vec![diff(text("old_string"), new)],
        ("Write", _, Some(content), ..) => {
            let old = read_old_text(&path);
            vec![diff(old.as_deref(), content)]
        }
        ("NotebookEdit", ..) => text("new_source").map(|new| diff(None, new)).into_iter().collect(),
        ("ExitPlanMode", _, _, Some(plan), _) => vec![ToolCallContent::text(plan)],
        ("Bash", _, _, _, Some(description)) => vec![ToolCallContent::text(description)],
        _ => Vec::new(),
    }
}

/// The text of a file that is to be overwritten, if it is a plain and small one.
fn read_small_file(path: &Path) -> Option<String> {
    let metadata = std::fs::symlink_metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > DIFF_BYTES_MAX {
        return None;
    }
    std::fs::read_to_string(path).ok()
}

fn list_locations(input: &Value, cwd: &Path) -> Vec<FileLocation> {
    let path = ["file_path", "notebook_path", "path"]
        .iter()
        .find_map(|key| input.get(key).and_then(Value::as_str))
        .filter(|path| !path.is_empty())
        .map(|path| absolute_path(path, cwd).to_string_lossy().into_owned());
    let line = input.get("offset").and_then(Value::as_u64);
    path.map(|path| FileLocation { path, line }).into_iter().collect()
}

/// The protocol takes absolute paths only; models write relative ones too, and those of the home.
fn absolute_path(path: &str, cwd: &Path) -> PathBuf {
    let below_home = path.strip_prefix("~/").zip(std::env::home_dir());
    below_home.map_or_else(|| cwd.join(path), |(below, home)| home.join(below))
}

const TITLE_CHARS_MAX: usize = 200;
const DIFF_BYTES_MAX: u64 = 1 << 20;
