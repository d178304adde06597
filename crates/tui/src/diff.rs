//! Diffs of edits: by line, and within changed lines by word. Pure.

use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use windlass_permission::sanitize;

use crate::styled_line::{StyledLine, TextStyle};

/// Renders the hunks of a finished edit.
pub fn render_patch(hunks: &[Value], width: usize, lines_max: usize) -> Vec<StyledLine> {
    let all = hunks.iter().filter_map(|hunk| hunk.get("lines")?.as_array()).flatten();
    let all: Vec<DiffLine> = all.filter_map(Value::as_str).filter_map(parse_diff_line).collect();
    render_diff_lines(&all, width, lines_max)
}

pub fn render_diff(before: &str, after: &str, width: usize, lines_max: usize) -> Vec<StyledLine> {
    if before.len().saturating_add(after.len()) > BYTES_MAX {
        return vec![StyledLine::from_text("  (too long to compare here)", TextStyle::Dim)];
    }
    let diff = TextDiff::from_lines(before, after);
    let mut all = Vec::new();
    for group in diff.grouped_ops(CONTEXT_LINES) {
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let kind = match change.tag() {
                ChangeTag::Equal => DiffLineKind::Context,
                ChangeTag::Delete => DiffLineKind::Removed,
                ChangeTag::Insert => DiffLineKind::Added,
            };
            all.push(DiffLine { kind, text: change.value().trim_end_matches('\n') });
        }
    }
    render_diff_lines(&all, width, lines_max)
}

struct DiffLine<'a> {
    kind: DiffLineKind,
    text: &'a str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DiffLineKind {
    Context,
    Removed,
    Added,
}

/// `None` for the remark that a file has no newline at its end.
fn parse_diff_line(line: &str) -> Option<DiffLine<'_>> {
    let mut letters = line.chars();
    let kind = match letters.next() {
        Some('+') => DiffLineKind::Added,
        Some('-') => DiffLineKind::Removed,
        Some(' ') => DiffLineKind::Context,
        Some('\\') => return None,
        _ => return Some(DiffLine { kind: DiffLineKind::Context, text: line }),
    };
    Some(DiffLine { kind, text: letters.as_str() })
}

fn render_diff_lines(all: &[DiffLine<'_>], width: usize, lines_max: usize) -> Vec<StyledLine> {
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
            let pairs: Vec<(StyledLine, StyledLine)> = before
                .iter()
                .zip(after)
                .map(|(before, after)| render_word_diff(before.text, after.text))
                .collect();
            lines.extend(pairs.iter().map(|(before, _)| before.truncate_to_width(width)));
            lines.extend(pairs.iter().map(|(_, after)| after.truncate_to_width(width)));
            at += removed + added;
            continue;
        }
        if let Some(DiffLine { kind, text }) = rest.first() {
            let (mark, style) = match kind {
                DiffLineKind::Context => (" ", TextStyle::Dim),
                DiffLineKind::Removed => ("-", TextStyle::Failure),
                DiffLineKind::Added => ("+", TextStyle::Success),
            };
            lines.push(
                StyledLine::from_text(format!("  {mark}{}", make_visible(text)), style)
                    .truncate_to_width(width),
            );
        }
        at += 1;
    }
    if at < all.len() {
        lines.truncate(lines_max);
        let more = all.len() - lines_max.min(all.len());
        lines.push(StyledLine::from_text(format!("  … {more} more lines"), TextStyle::Dim));
    }
    lines
}

/// Marks the changed words in both lines.
fn render_word_diff(before: &str, after: &str) -> (StyledLine, StyledLine) {
    let before = make_visible(before);
    let after = make_visible(after);
    let mut one = StyledLine::from_text("  -", TextStyle::Failure);
    let mut other = StyledLine::from_text("  +", TextStyle::Success);
    if before.len().saturating_add(after.len()) > WORDS_MAX {
        one.push(before, TextStyle::Failure);
        other.push(after, TextStyle::Success);
        return (one, other);
    }
    let diff = TextDiff::from_words(before.as_str(), after.as_str());
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Equal => {
                one.push(change.value(), TextStyle::Failure);
                other.push(change.value(), TextStyle::Success);
            }
            ChangeTag::Delete => one.push(change.value(), TextStyle::RemovedWord),
            ChangeTag::Insert => other.push(change.value(), TextStyle::AddedWord),
        }
    }
    (one, other)
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
        let lines = render_diff("a\nlet x = one;\nz\n", "a\nlet x = two;\nz\n", 40, 10);
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
        assert!(
            marked.contains(&pair("  -let x = one;", "one;"))
                || marked.contains(&pair("  -let x = one;", "one")),
            "{marked:?}"
        );
        assert!(
            marked.iter().any(|(line, word)| line == "  +let x = two;" && word.starts_with("two")),
            "{marked:?}"
        );
        assert!(marked.contains(&pair("   a", "")), "{marked:?}");
        assert_eq!(render_diff("", &"x\n".repeat(50), 40, 10).len(), 11);
    }
}
