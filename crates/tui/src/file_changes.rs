//! Files that changed, each with its counts and its diff: what `/diff` shows, and what a rewind would do.

use serde_json::Value;

use crate::diff::{self, DiffCounts};
use crate::styled_line::{StyledLine, TextStyle};
use crate::text;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileChangeView {
    pub path: String,
    /// `None` if the file is not text, or was not kept.
    pub counts: Option<DiffCounts>,
    /// An additional note; may be empty.
    pub note: String,
    /// Unified; empty if only the counts are shown.
    pub diff: String,
}

impl FileChangeView {
    /// Reads a file of the reports of `/diff` and `/rewind`.
    pub(crate) fn from_report(file: &Value, note: impl Into<String>) -> Self {
        let text = |field: &str| file.get(field).and_then(Value::as_str).unwrap_or_default();
        let count = |field: &str| usize::try_from(file.get(field)?.as_u64()?).ok();
        let counts = count("insertions").zip(count("deletions"));
        Self {
            path: text("path").to_owned(),
            counts: counts.map(|(added, removed)| DiffCounts { added, removed }),
            note: note.into(),
            diff: text("diff").to_owned(),
        }
    }

    /// Paths are relative to `folder`.
    pub(crate) fn render(&self, folder: &str, width: usize) -> Vec<StyledLine> {
        let below = self.path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
        let path = text::to_one_line(below.filter(|_| !folder.is_empty()).unwrap_or(&self.path));
        let mut line = StyledLine::from_text(format!("  {path}"), TextStyle::Code);
        if let Some(counts) = self.counts {
            counts.push_to(&mut line);
        }
        if !self.note.is_empty() {
            line.push(format!("  {}", self.note), TextStyle::Dim);
        }
        let mut lines = line.wrap(width, 4);
        let diff = diff::render_unified(&self.diff, &self.path, width, LINES_MAX);
        let has_diff = !diff.is_empty();
        lines.extend(diff);
        lines.extend(has_diff.then(StyledLine::new));
        lines
    }
}

/// Of one file.
const LINES_MAX: usize = 2_000;
