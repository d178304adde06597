//! The difference between two texts as the hunks clients and hooks are shown.

use std::time::Duration;

use serde::Serialize;
use similar::{ChangeTag, DiffOp, TextDiff};

/// Past this the difference is less than minimal, but still right.
const DIFF_TIME_MAX: Duration = Duration::from_millis(200);
const CONTEXT_LINES: usize = 3;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DiffHunk {
    old_start: usize,
    old_lines: usize,
    new_start: usize,
    new_lines: usize,
    lines: Vec<String>,
}

#[must_use]
pub fn count_changed_lines(old: &str, new: &str) -> (usize, usize) {
    let diff = TextDiff::configure().timeout(DIFF_TIME_MAX).diff_lines(old, new);
    let of = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    (of(ChangeTag::Delete), of(ChangeTag::Insert))
}

pub(crate) fn diff_hunks(old: &str, new: &str) -> Vec<DiffHunk> {
    let diff = TextDiff::configure().timeout(DIFF_TIME_MAX).diff_lines(old, new);
    diff.grouped_ops(CONTEXT_LINES)
        .iter()
        .filter_map(|ops| {
            let first = ops.first()?;
            let last = ops.last()?;
            let old_start = first.old_range().start;
            let new_start = first.new_range().start;
            Some(DiffHunk {
                old_start: old_start + 1,
                old_lines: last.old_range().end - old_start,
                new_start: new_start + 1,
                new_lines: last.new_range().end - new_start,
                lines: ops.iter().flat_map(|op| render_hunk_lines(&diff, op)).collect(),
            })
        })
        .collect()
}

pub(crate) fn render_unified_diff(old: &str, new: &str, bytes_max: usize) -> Option<String> {
    let mut text = String::new();
    for hunk in diff_hunks(old, new) {
        text.push_str(&format!(
            "@@ -{},{} +{},{} @@\n",
            hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines
        ));
        for line in &hunk.lines {
            text.push_str(line);
            text.push('\n');
        }
        if text.len() > bytes_max {
            return None;
        }
    }
    Some(text)
}

fn render_hunk_lines(diff: &TextDiff<'_, '_, str>, op: &DiffOp) -> Vec<String> {
    let line = |change: similar::Change<&str>| {
        let sign = match change.tag() {
            ChangeTag::Equal => ' ',
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        };
        let text = change.value();
        format!("{sign}{}", text.strip_suffix('\n').unwrap_or(text))
    };
    diff.iter_changes(op).map(line).collect()
}
