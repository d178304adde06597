//! The outcome of a command, as text for the model and as an object for hooks and clients.

use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use windlass_vocabulary::{Json, ToolOutcome};

use crate::limits::ToolLimits;
use crate::process::{FinishedProcess, ProcessEndCause, render_end_cause, render_exit_status};
use crate::process_output::SpillOutcome;

/// Standard error gets at most this fraction of the output shown, unless there is room left.
const STDERR_SHARE: usize = 3;

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct BashStructuredOutput<'a> {
    stdout: &'a str,
    stderr: &'a str,
    interrupted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    background_task_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timed_out_after_ms: Option<u128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    persisted_output_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    persisted_output_size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    return_code_interpretation: Option<&'static str>,
}

pub(super) fn build_command_outcome(
    ended: &FinishedProcess,
    words: Option<&[String]>,
    limits: &ToolLimits,
    limit: Duration,
    moved: Option<&str>,
) -> ToolOutcome {
    let (stdout, stderr) = render_streams(ended, limits.output_inline_bytes_max);
    let meaning = ended.status.and_then(|status| interpret_exit_code(words?, status.code()?));
    let mut notes = Vec::new();
    notes.extend(render_end_cause(ended.cause, limit, limits.output_spill_bytes_max));
    if ended.cause == ProcessEndCause::Exited && meaning.is_none() {
        notes.extend(render_exit_status(ended.status));
    }
    let is_error = !notes.is_empty();
    let mut text = notes.join("\n");
    for part in [stdout.trim_end_matches('\n'), stderr.trim_end_matches('\n')] {
        push_line(&mut text, part);
    }
    push_line(&mut text, meaning.unwrap_or_default());
    let mut saved = None;
    match &ended.spill_outcome {
        SpillOutcome::NotNeeded => {}
        SpillOutcome::Saved { path, bytes } => {
            push_line(&mut text, &format!("[All {bytes} bytes are in {}]", path.display()));
            saved = Some((path.display().to_string(), *bytes));
        }
        SpillOutcome::Failed { path, problem } => push_line(
            &mut text,
            &format!(
                "[The whole output could not be saved on the file system of {}: {problem}]",
                path.display()
            ),
        ),
    }
    if ended.had_leftovers {
        push_line(&mut text, "[Processes left in the background were stopped]");
    }
    for note in &ended.notes {
        push_line(&mut text, &format!("[{note}]"));
    }
    if let Some(moved) = moved {
        push_line(&mut text, &format!("[{moved}]"));
    }
    if text.is_empty() {
        text.push_str("[The command wrote nothing]");
    }
    let structured = BashStructuredOutput {
        stdout: &stdout,
        stderr: &stderr,
        interrupted: ended.cause != ProcessEndCause::Exited,
        background_task_id: None,
        timed_out_after_ms: (ended.cause == ProcessEndCause::Deadline).then_some(limit.as_millis()),
        persisted_output_path: saved.as_ref().map(|(path, _)| path.clone()),
        persisted_output_size: saved.map(|(_, bytes)| bytes),
        return_code_interpretation: meaning,
    };
    ToolOutcome { is_error, structured: to_json(&structured), ..ToolOutcome::from_text(text) }
}

pub(super) fn build_background_outcome(id: &str, output: &Path) -> ToolOutcome {
    let text = format!(
        "Runs in the background as `{id}`. Wait for it or look at it with Monitor, end it with \
         TaskStop. All it writes is in {}.",
        output.display()
    );
    let structured =
        BashStructuredOutput { background_task_id: Some(id), ..BashStructuredOutput::default() };
    ToolOutcome { structured: to_json(&structured), ..ToolOutcome::from_text(text) }
}

fn render_streams(ended: &FinishedProcess, inline_max: usize) -> (String, String) {
    let size = |total: u64| usize::try_from(total).unwrap_or(usize::MAX);
    let out = size(ended.stdout.total());
    let err = size(ended.stderr.total());
    let share = err.min((inline_max / STDERR_SHARE).max(inline_max.saturating_sub(out)));
    (ended.stdout.render(inline_max.saturating_sub(share)), ended.stderr.render(share))
}

/// Exit codes that do not mean a failure, for a command that is a single program.
fn interpret_exit_code(words: &[String], code: i32) -> Option<&'static str> {
    match (words.first()?.as_str(), code) {
        ("grep" | "egrep" | "fgrep" | "rg", 1) => Some("No matches found"),
        ("diff" | "cmp", 1) => Some("Files differ"),
        ("test" | "[", 1) => Some("Condition is false"),
        ("find", 1) => Some("Some directories were inaccessible"),
        _ => None,
    }
}

fn push_line(text: &mut String, part: &str) {
    if part.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(part);
}

fn to_json(structured: &impl Serialize) -> Option<Json> {
    serde_json::to_string(structured).ok().map(|text| Json::from_checked(&text))
}
