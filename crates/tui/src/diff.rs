//! Diffs of edits: by line, and within changed lines by word. Pure.

use serde_json::Value;
use unicode_segmentation::UnicodeSegmentation;
use windlass_permission::sanitize;
use windlass_text_diff::{TextChangeKind, TextDifference};

use crate::styled_line::{StyledLine, TextStyle};
use crate::text::code_highlight;
use crate::words;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiffCounts {
    pub added: usize,
    pub removed: usize,
}

impl DiffCounts {
    /// As people read it: `+2 −1`.
    pub(crate) fn push_to(self, line: &mut StyledLine) {
        line.push(format!("  +{}", self.added), TextStyle::Success);
        line.push(format!(" −{}", self.removed), TextStyle::Failure);
    }
}

/// Lines that the hunks of a finished edit add and remove.
pub(crate) fn count_changes(hunks: &[Value]) -> DiffCounts {
    let mut counts = DiffCounts::default();
    for line in hunks.iter().filter_map(|hunk| hunk.get("lines")?.as_array()).flatten() {
        match line.as_str().and_then(|line| line.chars().next()) {
            Some('+') => counts.added += 1,
            Some('-') => counts.removed += 1,
            Some(_) | None => {}
        }
    }
    counts
}

/// Renders the hunks of a finished edit of this file.
pub(crate) fn render_patch(
    hunks: &[Value],
    path: &str,
    width: usize,
    lines_max: usize,
) -> Vec<StyledLine> {
    let mut all = Vec::new();
    for hunk in hunks {
        let start = |field: &str| hunk.get(field).and_then(Value::as_u64).unwrap_or(0);
        let mut numbers = LineNumbers { old: start("oldStart"), new: start("newStart") };
        if !all.is_empty() {
            all.push(DiffLine { kind: DiffLineKind::Gap, number: 0, text: "" });
        }
        let lines = hunk.get("lines").and_then(Value::as_array).map(Vec::as_slice);
        for line in lines.unwrap_or_default().iter().filter_map(Value::as_str) {
            let Some((kind, text)) = parse_diff_line(line) else { continue };
            all.push(DiffLine { kind, number: numbers.count(kind), text });
        }
    }
    DiffView::new(path, width).render(&all, lines_max)
}

/// Renders a unified diff of one file; its headers are left out.
pub(crate) fn render_unified(
    text: &str,
    path: &str,
    width: usize,
    lines_max: usize,
) -> Vec<StyledLine> {
    let mut all = Vec::new();
    let mut numbers = None;
    for line in text.lines() {
        if let Some(starts) = line.strip_prefix("@@ -") {
            if !all.is_empty() {
                all.push(DiffLine { kind: DiffLineKind::Gap, number: 0, text: "" });
            }
            numbers = LineNumbers::parse(starts);
        } else if let (Some(numbers), Some((kind, text))) = (&mut numbers, parse_diff_line(line)) {
            all.push(DiffLine { kind, number: numbers.count(kind), text });
        }
    }
    DiffView::new(path, width).render(&all, lines_max)
}

/// Compares two texts.
pub(crate) fn render_diff(
    before: &str,
    after: &str,
    view: &DiffView<'_>,
    lines_max: usize,
) -> Vec<StyledLine> {
    if before.len().saturating_add(after.len()) > BYTES_MAX {
        let words = format!("  {}", words::DIFF_TOO_LONG);
        return vec![StyledLine::from_text(words, TextStyle::Dim)];
    }
    let mut all = Vec::new();
    for hunk in TextDifference::of_lines(before, after).hunks(CONTEXT_LINES) {
        if !all.is_empty() {
            all.push(DiffLine { kind: DiffLineKind::Gap, number: 0, text: "" });
        }
        let first = |start| u64::try_from(start).unwrap_or(0) + 1;
        let mut numbers = LineNumbers { old: first(hunk.old_start), new: first(hunk.new_start) };
        for change in hunk.changes {
            let kind = match change.kind {
                TextChangeKind::Equal => DiffLineKind::Context,
                TextChangeKind::Removed => DiffLineKind::Removed,
                TextChangeKind::Added => DiffLineKind::Added,
            };
            let text = change.text_without_newline();
            all.push(DiffLine { kind, number: numbers.count(kind), text });
        }
    }
    view.render(&all, lines_max)
}

struct DiffLine<'a> {
    kind: DiffLineKind,
    /// Of the file after the change, or before it for a removed line; 0 if unknown.
    number: u64,
    text: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DiffLineKind {
    Context,
    Removed,
    Added,
    /// Lines between two hunks that are not shown.
    Gap,
}

struct LineNumbers {
    old: u64,
    new: u64,
}

impl LineNumbers {
    /// Reads `12,3 +14,5 @@`.
    fn parse(starts: &str) -> Option<Self> {
        let (old, new) = starts.split_once(" +")?;
        let first = |range: &str| range.split([',', ' ']).next()?.parse().ok();
        Some(Self { old: first(old)?, new: first(new)? })
    }

    fn count(&mut self, kind: DiffLineKind) -> u64 {
        match kind {
            DiffLineKind::Context => {
                self.old += 1;
                self.new += 1;
                self.new - 1
            }
            DiffLineKind::Removed => {
                self.old += 1;
                self.old - 1
            }
            DiffLineKind::Added => {
                self.new += 1;
                self.new - 1
            }
            DiffLineKind::Gap => 0,
        }
    }
}

/// `None` for the remark that a file has no newline at its end.
fn parse_diff_line(line: &str) -> Option<(DiffLineKind, &str)> {
    let mut letters = line.chars();
    let kind = match letters.next() {
        Some('+') => DiffLineKind::Added,
        Some('-') => DiffLineKind::Removed,
        Some(' ') => DiffLineKind::Context,
        Some('\\') => return None,
        _ => return Some((DiffLineKind::Context, line)),
    };
    Some((kind, letters.as_str()))
}

/// How a diff is drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiffView<'a> {
    /// The name of the file decides how its code is coloured.
    path: &'a str,
    width: usize,
    has_numbers: bool,
}

impl<'a> DiffView<'a> {
    pub(crate) fn new(path: &'a str, width: usize) -> Self {
        Self { path, width, has_numbers: true }
    }

    /// For a part of a file, which does not know its place.
    pub(crate) fn without_numbers(self) -> Self {
        Self { has_numbers: false, ..self }
    }

    fn render(&self, all: &[DiffLine<'_>], lines_max: usize) -> Vec<StyledLine> {
        let widest = all.iter().map(|line| line.number).max().unwrap_or(0);
        let digits = if self.has_numbers { widest.to_string().len() } else { 0 };
        let mut lines = Vec::new();
        let mut at = 0;
        while at < all.len() && lines.len() < lines_max {
            let rest = all.get(at..).unwrap_or_default();
            let is_kind = |kind| move |line: &&DiffLine<'_>| line.kind == kind;
            let removed = rest.iter().take_while(is_kind(DiffLineKind::Removed)).count();
            let added = rest.iter().skip(removed).take_while(is_kind(DiffLineKind::Added)).count();
            if removed > 0 && removed == added {
                // As many lines are added as removed: compare them pairwise.
                let (before, after) = rest.split_at(removed);
                let pairs: Vec<ChangedPair> = before
                    .iter()
                    .zip(after)
                    .map(|(before, after)| compare_words(before.text, after.text))
                    .collect();
                let before = before.iter().zip(pairs.iter().map(|pair| &pair.before));
                lines.extend(before.map(|(line, words)| self.render_line(line, words, digits)));
                let after = after.iter().zip(pairs.iter().map(|pair| &pair.after));
                lines.extend(after.map(|(line, words)| self.render_line(line, words, digits)));
                at += removed + added;
                continue;
            }
            if let Some(line) = rest.first() {
                let words = self.highlight(line);
                lines.push(self.render_line(line, &words, digits));
            }
            at += 1;
        }
        if at < all.len() || lines.len() > lines_max {
            lines.truncate(lines_max);
            let words = format!("  {}", words::describe_more_lines(all.len() - lines.len()));
            lines.push(StyledLine::from_text(words, TextStyle::Dim));
        }
        lines
    }

    /// Context in the colours of its language; changed lines in the colour of their change.
    fn highlight(&self, line: &DiffLine<'_>) -> StyledLine {
        let text = make_visible(line.text);
        match line.kind {
            DiffLineKind::Context => code_highlight::highlight_line_of_file(self.path, &text),
            DiffLineKind::Removed => StyledLine::from_text(text, TextStyle::Failure),
            DiffLineKind::Added => StyledLine::from_text(text, TextStyle::Success),
            DiffLineKind::Gap => StyledLine::from_text("⋮", TextStyle::Dim),
        }
    }

    fn render_line(&self, line: &DiffLine<'_>, words: &StyledLine, digits: usize) -> StyledLine {
        let (mark, style) = match line.kind {
            DiffLineKind::Context | DiffLineKind::Gap => (" ", TextStyle::Dim),
            DiffLineKind::Removed => ("-", TextStyle::Failure),
            DiffLineKind::Added => ("+", TextStyle::Success),
        };
        let number = match line.number {
            0 => " ".repeat(digits),
            number => format!("{number:digits$}"),
        };
        let mut whole = StyledLine::from_text("  ", TextStyle::Plain);
        if digits > 0 {
            whole.push(format!("{number} "), TextStyle::Dim);
        }
        whole.push(mark, style);
        for span in &words.spans {
            whole.push(span.text.as_str(), span.style);
        }
        whole.trim_end().truncate_to_width(self.width)
    }
}

struct ChangedPair {
    before: StyledLine,
    after: StyledLine,
}

/// Marks the changed words in both lines.
fn compare_words(before: &str, after: &str) -> ChangedPair {
    let before = make_visible(before);
    let after = make_visible(after);
    if before.len().saturating_add(after.len()) > WORDS_MAX {
        return ChangedPair {
            before: StyledLine::from_text(before, TextStyle::Failure),
            after: StyledLine::from_text(after, TextStyle::Success),
        };
    }
    let mut pair = ChangedPair { before: StyledLine::new(), after: StyledLine::new() };
    let old: Vec<&str> = before.split_word_bounds().collect();
    let new: Vec<&str> = after.split_word_bounds().collect();
    for change in TextDifference::of_tokens(old, new).changes() {
        match change.kind {
            TextChangeKind::Equal => {
                pair.before.push(change.text, TextStyle::Failure);
                pair.after.push(change.text, TextStyle::Success);
            }
            TextChangeKind::Removed => pair.before.push(change.text, TextStyle::RemovedWord),
            TextChangeKind::Added => pair.after.push(change.text, TextStyle::AddedWord),
        }
    }
    pair
}

/// The user decides by what is shown, so invisible characters must be shown too.
fn make_visible(text: &str) -> String {
    sanitize::escape_invisible(text).replace('\t', "    ").replace('\n', " ")
}

const CONTEXT_LINES: usize = 2;
const BYTES_MAX: usize = 256 * 1024;
/// Longer lines are not compared by word.
const WORDS_MAX: usize = 2_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_words_that_change_are_marked() {
        let view = DiffView::new("a.rs", 40);
        let lines = render_diff("a\nlet x = one;\nz\n", "a\nlet x = two;\nz\n", &view, 10);
        let marked: Vec<(String, String)> = lines
            .iter()
            .map(|line| {
                let is_word =
                    |style| matches!(style, TextStyle::RemovedWord | TextStyle::AddedWord);
                let words = line.spans.iter().filter(|span| is_word(span.style));
                (line.plain_text(), words.map(|span| span.text.as_str()).collect())
            })
            .collect();
        let pair = |one: &str, other: &str| (one.to_owned(), other.to_owned());
        assert!(marked.contains(&pair("  2 -let x = one;", "one")), "{marked:?}");
        assert!(marked.contains(&pair("  2 +let x = two;", "two")), "{marked:?}");
        assert!(marked.contains(&pair("  1  a", "")), "{marked:?}");
        assert_eq!(render_diff("", &"x\n".repeat(50), &view, 10).len(), 11);
        let plain = render_diff("a\n", "b\n", &view.without_numbers(), 10);
        assert_eq!(plain.first().map(StyledLine::plain_text).as_deref(), Some("  -a"));
    }

    #[test]
    fn hunks_are_numbered_and_counted() {
        let hunks = [
            serde_json::json!({"oldStart": 9, "newStart": 9, "lines": [" a", "-b", "+c", "+d"]}),
            serde_json::json!({"oldStart": 30, "newStart": 31, "lines": [" e", "-f"]}),
        ];
        let lines = render_patch(&hunks, "x.py", 40, 20);
        let words: Vec<String> = lines.iter().map(StyledLine::plain_text).collect();
        let expected =
            ["   9  a", "  10 -b", "  10 +c", "  11 +d", "      ⋮", "  31  e", "  31 -f"];
        assert_eq!(words, expected);
        assert_eq!(count_changes(&hunks), DiffCounts { added: 2, removed: 2 });
        let text =
            "--- x.py\n+++ x.py\n@@ -9,2 +9,3 @@ def f\n a\n-b\n+c\n+d\n@@ -30,2 +31 @@\n e\n-f\n";
        let lines = render_unified(text, "x.py", 40, 20);
        assert_eq!(lines.iter().map(StyledLine::plain_text).collect::<Vec<_>>(), expected);
    }
}
