//! What an edit changes: lines that go and lines that come, and in lines that change the words that
//! do. Pure.

use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use windlass_permission::display;

use crate::line::{Line, Role};

/// What a finished edit changed, hunk by hunk.
#[must_use]
pub fn patch(hunks: &[Value], width: usize, lines_max: usize) -> Vec<Line> {
    let all = hunks.iter().filter_map(|hunk| hunk.get("lines")?.as_array()).flatten();
    let all: Vec<(Sign, &str)> = all.filter_map(Value::as_str).filter_map(signed).collect();
    drawn(&all, width, lines_max)
}

/// What would become of a text.
#[must_use]
pub fn between(before: &str, after: &str, width: usize, lines_max: usize) -> Vec<Line> {
    if before.len().saturating_add(after.len()) > BYTES_MAX {
        return vec![Line::of("  (too long to compare here)", Role::Quiet)];
    }
    let diff = TextDiff::from_lines(before, after);
    let mut all: Vec<(Sign, &str)> = Vec::new();
    for group in diff.grouped_ops(AROUND) {
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Equal => Sign::Same,
                ChangeTag::Delete => Sign::Gone,
                ChangeTag::Insert => Sign::New,
            };
            all.push((sign, change.value().trim_end_matches('\n')));
        }
    }
    drawn(&all, width, lines_max)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    Same,
    Gone,
    New,
}

fn signed(line: &str) -> Option<(Sign, &str)> {
    let mut letters = line.chars();
    Some(match letters.next() {
        Some('+') => (Sign::New, letters.as_str()),
        Some('-') => (Sign::Gone, letters.as_str()),
        Some(' ') => (Sign::Same, letters.as_str()),
        Some('\\') => return None,
        _ => (Sign::Same, line),
    })
}

fn drawn(all: &[(Sign, &str)], width: usize, lines_max: usize) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut at = 0;
    while at < all.len() && lines.len() < lines_max {
        let rest = all.get(at..).unwrap_or_default();
        let count = |sign| move |(own, _): &&(Sign, &str)| *own == sign;
        let gone = rest.iter().take_while(count(Sign::Gone)).count();
        let new = rest.iter().skip(gone).take_while(count(Sign::New)).count();
        if gone > 0 && gone == new {
            // As many come as go: each is compared with the one in its place.
            let (before, after) = rest.split_at(gone);
            let pairs: Vec<(Line, Line)> =
                before.iter().zip(after).map(|(one, other)| words(one.1, other.1)).collect();
            lines.extend(pairs.iter().map(|(one, _)| one.cut(width)));
            lines.extend(pairs.iter().map(|(_, other)| other.cut(width)));
            at += gone + new;
            continue;
        }
        if let Some((sign, text)) = rest.first() {
            let (mark, role) = match sign {
                Sign::Same => (" ", Role::Quiet),
                Sign::Gone => ("-", Role::Bad),
                Sign::New => ("+", Role::Good),
            };
            lines.push(Line::of(format!("  {mark}{}", clean(text)), role).cut(width));
        }
        at += 1;
    }
    if at < all.len() {
        lines.truncate(lines_max);
        let more = all.len() - lines_max.min(all.len());
        lines.push(Line::of(format!("  … {more} more lines"), Role::Quiet));
    }
    lines
}

/// Two lines, with the words that changed marked in both.
fn words(before: &str, after: &str) -> (Line, Line) {
    let (before, after) = (clean(before), clean(after));
    let mut one = Line::of("  -", Role::Bad);
    let mut other = Line::of("  +", Role::Good);
    if before.len().saturating_add(after.len()) > WORDS_MAX {
        one.push(before, Role::Bad);
        other.push(after, Role::Good);
        return (one, other);
    }
    let diff = TextDiff::from_words(before.as_str(), after.as_str());
    for change in diff.iter_all_changes() {
        match change.tag() {
            ChangeTag::Equal => {
                one.push(change.value(), Role::Bad);
                other.push(change.value(), Role::Good);
            }
            ChangeTag::Delete => one.push(change.value(), Role::BadWord),
            ChangeTag::Insert => other.push(change.value(), Role::GoodWord),
        }
    }
    (one, other)
}

/// Every letter of what is shown before it is allowed can be seen.
fn clean(text: &str) -> String {
    display::visible(text).replace('\t', "    ").replace('\n', " ")
}

const AROUND: usize = 2;
const BYTES_MAX: usize = 256 * 1024;
/// Of longer lines nobody sees the words that change.
const WORDS_MAX: usize = 2_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_words_that_change_are_marked() {
        let lines = between("a\nlet x = one;\nz\n", "a\nlet x = two;\nz\n", 40, 10);
        let marked: Vec<(String, String)> = lines
            .iter()
            .map(|line| {
                let is_word = |role| matches!(role, Role::BadWord | Role::GoodWord);
                let words = line.spans.iter().filter(|span| is_word(span.role));
                (line.words(), words.map(|span| span.text.as_str()).collect())
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
        assert_eq!(between("", &"x\n".repeat(50), 40, 10).len(), 11);
    }
}
