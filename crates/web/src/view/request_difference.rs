//! The lines in which two requests differ, also of very long requests: what both begin and end with
//! is skipped first, and a long line is shown around the place where it differs.

use std::ops::Range;

use serde_json::{Value, json};
use windlass_text_diff::{ChangedLineCounts, TextChange, TextChangeKind, TextDifference};

use super::json_text::indent_json;

/// Hunks as in a diff of files, and how many lines differ in all.
pub(super) struct RequestDifference {
    pub(super) hunks: Vec<Value>,
    pub(super) counts: ChangedLineCounts,
    /// More lines differ than are in the hunks.
    pub(super) is_cut: bool,
}

impl RequestDifference {
    /// `None` if one is too long to be laid out in lines.
    pub(super) fn compare(one: &str, two: &str) -> Option<Self> {
        if one.len().max(two.len()) > REQUEST_BYTES_MAX {
            return None;
        }
        Some(compare_lines(&indent_json(one), &indent_json(two)))
    }
}

fn compare_lines(one: &str, two: &str) -> RequestDifference {
    let (old, new): (Vec<&str>, Vec<&str>) = (one.lines().collect(), two.lines().collect());
    let begin = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - begin;
    let end = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let start = begin.saturating_sub(CONTEXT_LINES);
    let skipped = end.saturating_sub(CONTEXT_LINES);
    let middle = |lines: &[&'_ str]| start..lines.len() - skipped;
    let differing = TextDifference::of_tokens(
        old.get(middle(&old)).unwrap_or_default().to_vec(),
        new.get(middle(&new)).unwrap_or_default().to_vec(),
    );
    let mut room = HunkRoom { lines: LINES_MAX, bytes: SHOWN_BYTES_MAX };
    let mut hunks = Vec::new();
    let mut is_cut = false;
    for hunk in differing.hunks(CONTEXT_LINES) {
        let lines = room.show(&hunk.changes);
        is_cut |= lines.len() < hunk.changes.len();
        if lines.is_empty() {
            break;
        }
        hunks.push(json!({
            "old_start": start + hunk.old_start + 1,
            "new_start": start + hunk.new_start + 1,
            "lines": lines,
        }));
    }
    RequestDifference { hunks, counts: differing.count_changes(), is_cut }
}

/// How much may still be shown.
struct HunkRoom {
    lines: usize,
    bytes: usize,
}

impl HunkRoom {
    /// The lines of a hunk that fit, as `["+", "text"]`.
    fn show(&mut self, changes: &[TextChange<'_>]) -> Vec<Value> {
        let mut shown = Vec::new();
        for (place, change) in changes.iter().enumerate() {
            let text = match change.text.len() > LINE_BYTES_MAX {
                true => shorten_line(change.text, find_partner(changes, place)),
                false => change.text.to_owned(),
            };
            if self.lines == 0 || text.len() > self.bytes {
                // Nothing may follow a line that was left out.
                *self = Self { lines: 0, bytes: 0 };
                break;
            }
            self.lines -= 1;
            self.bytes -= text.len();
            shown.push(json!([change.kind.sign().to_string(), text]));
        }
        shown
    }
}

/// The line on the other side of a replacement, by its place among the replaced lines.
fn find_partner<'a>(changes: &[TextChange<'a>], place: usize) -> Option<&'a str> {
    let kind = changes.get(place)?.kind;
    let count = |from: usize, kind: TextChangeKind| {
        changes.iter().skip(from).take_while(|change| change.kind == kind).count()
    };
    let before =
        changes.get(..place)?.iter().rev().take_while(|change| change.kind == kind).count();
    let partner = match kind {
        TextChangeKind::Equal => return None,
        TextChangeKind::Removed => {
            let removed_end = place + count(place, kind);
            let has_partner = before < count(removed_end, TextChangeKind::Added);
            has_partner.then_some(removed_end + before)?
        }
        TextChangeKind::Added => {
            let added_start = place - before;
            let above = changes.get(..added_start)?.iter().rev();
            let removed = above.take_while(|one| one.kind == TextChangeKind::Removed).count();
            (before < removed).then_some(added_start - removed + before)?
        }
    };
    changes.get(partner).map(|change| change.text)
}

/// The part of a long line that differs from its partner.
fn shorten_line(line: &str, partner: Option<&str>) -> String {
    let window = partner.map_or(0..LINE_BYTES_MAX, |partner| find_differing_part(line, partner));
    let start = line.floor_char_boundary(window.start);
    let end = line.floor_char_boundary(window.end.min(line.len()));
    let part = line.get(start..end).unwrap_or_default();
    let before = if start > 0 { "…" } else { "" };
    format!("{before}{part}… ({} bytes, of which {} are shown)", line.len(), part.len())
}

/// From a little before the first difference, as much as a line may have.
fn find_differing_part(line: &str, partner: &str) -> Range<usize> {
    let shared = line.bytes().zip(partner.bytes()).take_while(|(a, b)| a == b).count();
    let start = shared.saturating_sub(BYTES_BEFORE_DIFFERENCE);
    start..start + LINE_BYTES_MAX
}

const CONTEXT_LINES: usize = 3;
/// What is laid out in lines takes several times its size in memory.
const REQUEST_BYTES_MAX: usize = 64 << 20;
const LINES_MAX: usize = 4_000;
const SHOWN_BYTES_MAX: usize = 4 << 20;
const LINE_BYTES_MAX: usize = 32 << 10;
const BYTES_BEFORE_DIFFERENCE: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_any_length_are_compared() {
        let image = "A".repeat(9 << 20);
        let body = |last: &str| format!(r#"{{"a":["{image}"],"b":["x","{last}","z"]}}"#);
        let found = RequestDifference::compare(&body("one"), &body("two")).unwrap();
        let lines = json!([
            [" ", "  ],"],
            [" ", "  \"b\": ["],
            [" ", "    \"x\","],
            ["-", "    \"one\","],
            ["+", "    \"two\","],
            [" ", "    \"z\""],
            [" ", "  ]"],
            [" ", "}"],
        ]);
        assert_eq!(found.hunks.len(), 1);
        assert_eq!((&found.hunks[0]["lines"], &found.hunks[0]["old_start"]), (&lines, &json!(4)));
        assert_eq!((found.counts.insertions, found.counts.deletions), (1, 1));
        assert!(!found.is_cut);
    }

    #[test]
    fn a_long_line_is_shown_where_it_differs() {
        let line =
            |word: &str| format!(r#"["{}{word}{}"]"#, "é".repeat(50_000), "b".repeat(90_000));
        let found = RequestDifference::compare(&line("one"), &line("two")).unwrap();
        let lines = found.hunks[0]["lines"].to_string();
        assert!(lines.contains("éoneb") && lines.contains("étwob"), "{}", lines.len());
        assert!(lines.contains("(190009 bytes, of which"), "{}", lines.len());
        assert!(lines.len() < 4 * LINE_BYTES_MAX);
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let body = |word: &str| format!("[{}]", vec![format!("\"{word}\""); 9_000].join(","));
        let found = RequestDifference::compare(&body("a"), &body("b")).unwrap();
        let lines = found.hunks[0]["lines"].as_array().unwrap();
        assert_eq!((lines.len(), found.is_cut), (LINES_MAX, true));
        assert_eq!((found.counts.insertions, found.counts.deletions), (9_000, 9_000));
    }
}
