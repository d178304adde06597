//! Diffs two texts into hunks for clients and hooks.

use serde::Serialize;
use windlass_text_diff::{TextDifference, TextHunk};

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
    let counts = TextDifference::of_lines(old, new).count_changes();
    (counts.deletions, counts.insertions)
}

pub(crate) fn diff_hunks(old: &str, new: &str) -> Vec<DiffHunk> {
    let difference = TextDifference::of_lines(old, new);
    difference.hunks(CONTEXT_LINES).iter().map(DiffHunk::from_text_hunk).collect()
}

impl DiffHunk {
    fn from_text_hunk(hunk: &TextHunk<'_>) -> Self {
        let lines = hunk.changes.iter();
        let lines =
            lines.map(|one| format!("{}{}", one.kind.sign(), one.text_without_newline())).collect();
        Self {
            old_start: hunk.old_start + 1,
            old_lines: hunk.old_length,
            new_start: hunk.new_start + 1,
            new_lines: hunk.new_length,
            lines,
        }
    }
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
