//! What a command did on a trial copy: its exit code, its output and its changes.

use serde_json::Value;
use windlass_permission::sanitize;

use crate::styled_line::{StyledLine, TextStyle};
use crate::{text, words};

/// Lines of the output that are shown: its last ones.
const OUTPUT_LINES_MAX: usize = 12;
const DIFF_LINES_MAX: usize = 400;

#[derive(Debug, Default)]
pub(super) struct TriedCommandReport {
    command: String,
    /// None when a signal ended it.
    exit_code: Option<i64>,
    output: String,
    diff: String,
    file_count: usize,
    /// Folders outside of snapshots, each with the number of its changes.
    outside: Vec<String>,
    changes_git: bool,
    conflicts: Vec<String>,
}

impl TriedCommandReport {
    pub(super) fn from_input(input: &Value) -> Self {
        let text =
            |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let list = |name: &str| {
            let items = input.get(name).and_then(Value::as_array).into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<String>>()
        };
        Self {
            command: text("command"),
            exit_code: input.get("exit_code").and_then(Value::as_i64),
            output: text("output"),
            diff: text("diff"),
            file_count: list("files").len(),
            outside: list("outside_snapshots"),
            changes_git: input.get("changes_git").and_then(Value::as_bool).unwrap_or(false),
            conflicts: list("conflicts"),
        }
    }

    pub(super) fn render(&self, width: usize) -> Vec<StyledLine> {
        let mut lines = vec![StyledLine::from_text(words::APPLY_TRIAL, TextStyle::Warning)];
        for line in self.command.lines() {
            lines.extend(render_line(line, TextStyle::Code, width));
        }
        let ended =
            words::describe_tried_command(self.exit_code, self.file_count, self.changes_git);
        lines.extend(render_line(&ended, TextStyle::Dim, width));
        let output: Vec<&str> = self.output.lines().collect();
        let hidden = output.len().saturating_sub(OUTPUT_LINES_MAX);
        if hidden > 0 {
            lines.extend(render_line(&words::describe_hidden_lines(hidden), TextStyle::Dim, width));
        }
        for line in output.iter().skip(hidden) {
            lines.extend(render_line(line, TextStyle::Plain, width));
        }
        for line in self.diff.lines().take(DIFF_LINES_MAX) {
            let style = match line.as_bytes().first() {
                Some(b'+') => TextStyle::Success,
                Some(b'-') => TextStyle::Failure,
                Some(b'd') => TextStyle::Bold,
                _ => TextStyle::Dim,
            };
            lines.extend(render_line(line, style, width));
        }
        if !self.outside.is_empty() {
            let outside = words::describe_changes_outside(&self.outside.join(", "));
            lines.extend(render_line(&outside, TextStyle::Plain, width));
        }
        if !self.conflicts.is_empty() {
            let conflicts = words::describe_conflicts(&self.conflicts.join(", "));
            lines.extend(render_line(&conflicts, TextStyle::Warning, width));
        }
        lines
    }
}

fn render_line(line: &str, style: TextStyle, width: usize) -> Vec<StyledLine> {
    let clean = text::to_one_line(&sanitize::escape_invisible(line));
    StyledLine::from_text(format!("  {clean}"), style).wrap(width, 2)
}
