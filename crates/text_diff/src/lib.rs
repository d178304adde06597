//! Differences between two texts by line or token: changes, hunks with context, unified diffs.
//!
//! Uses a single algorithm, instantiated once: `similar` selects one of six at run time and
//! instantiates them for each input type, which cost the binary 350 kB. The output is that of its
//! own text differences.

use std::time::{Duration, Instant};

use similar::algorithms::{Capture, Compact, IdentifyDistinct, Replace, myers};
use similar::{ChangeTag, DiffOp, DiffTag, DiffableStr, group_diff_ops};

/// After this time the difference may not be minimal, but is still correct.
const SEARCH_TIME_MAX: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub struct TextDifference<'a> {
    old: Vec<&'a str>,
    new: Vec<&'a str>,
    operations: Vec<DiffOp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextChangeKind {
    Equal,
    Removed,
    Added,
}

impl TextChangeKind {
    /// The first character of such a line in a unified diff.
    #[must_use]
    pub fn sign(self) -> char {
        match self {
            Self::Equal => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

/// One line including its line end, or one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextChange<'a> {
    pub kind: TextChangeKind,
    pub text: &'a str,
}

impl<'a> TextChange<'a> {
    #[must_use]
    pub fn text_without_newline(&self) -> &'a str {
        self.text.strip_suffix('\n').unwrap_or(self.text)
    }
}

/// Adjacent changes with their context.
#[derive(Debug, PartialEq, Eq)]
pub struct TextHunk<'a> {
    /// Index of the first line, from 0.
    pub old_start: usize,
    pub old_length: usize,
    pub new_start: usize,
    pub new_length: usize,
    pub changes: Vec<TextChange<'a>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangedLineCounts {
    pub insertions: usize,
    pub deletions: usize,
}

impl<'a> TextDifference<'a> {
    #[must_use]
    pub fn of_lines(old: &'a str, new: &'a str) -> Self {
        Self::of_tokens(old.tokenize_lines(), new.tokenize_lines())
    }

    #[must_use]
    pub fn of_tokens(old: Vec<&'a str>, new: Vec<&'a str>) -> Self {
        let numbers = IdentifyDistinct::<u32>::new(
            old.as_slice(),
            0..old.len(),
            new.as_slice(),
            0..new.len(),
        );
        let old_numbers = numbers.old_lookup();
        let new_numbers = numbers.new_lookup();
        let mut hook = Compact::new(Replace::new(Capture::new()), old_numbers, new_numbers);
        let deadline = Instant::now().checked_add(SEARCH_TIME_MAX);
        let Ok(()) = myers::diff_deadline(
            &mut hook,
            old_numbers,
            numbers.old_range(),
            new_numbers,
            numbers.new_range(),
            deadline,
        );
        let operations = hook.into_inner().into_inner().into_ops();
        Self { old, new, operations }
    }

    /// All changes of both texts in order; replaced lines come before their replacements.
    #[must_use]
    pub fn changes(&self) -> Vec<TextChange<'a>> {
        self.list_changes(&self.operations)
    }

    #[must_use]
    pub fn count_changes(&self) -> ChangedLineCounts {
        let changed = self.operations.iter().filter(|one| one.tag() != DiffTag::Equal);
        changed.fold(ChangedLineCounts::default(), |counts, one| ChangedLineCounts {
            insertions: counts.insertions + one.new_range().len(),
            deletions: counts.deletions + one.old_range().len(),
        })
    }

    #[must_use]
    pub fn hunks(&self, context_lines: usize) -> Vec<TextHunk<'a>> {
        let groups = group_diff_ops(self.operations.clone(), context_lines);
        groups.iter().filter_map(|group| self.build_hunk(group)).collect()
    }

    /// Renders like `diff -u`; empty if the texts are equal.
    #[must_use]
    pub fn to_unified(&self, old_name: &str, new_name: &str, context_lines: usize) -> String {
        let mut text = String::new();
        for hunk in self.hunks(context_lines) {
            if text.is_empty() {
                text.push_str(&format!("--- {old_name}\n+++ {new_name}\n"));
            }
            let old_lines = render_line_range(hunk.old_start, hunk.old_length);
            let new_lines = render_line_range(hunk.new_start, hunk.new_length);
            text.push_str(&format!("@@ -{old_lines} +{new_lines} @@\n"));
            for change in hunk.changes {
                text.push(change.kind.sign());
                text.push_str(change.text);
                if !change.text.ends_with(['\n', '\r']) {
                    text.push_str("\n\\ No newline at end of file\n");
                }
            }
        }
        text
    }

    fn build_hunk(&self, group: &[DiffOp]) -> Option<TextHunk<'a>> {
        let first = group.first()?;
        let last = group.last()?;
        let old_start = first.old_range().start;
        let new_start = first.new_range().start;
        Some(TextHunk {
            old_start,
            old_length: last.old_range().end - old_start,
            new_start,
            new_length: last.new_range().end - new_start,
            changes: self.list_changes(group),
        })
    }

    fn list_changes(&self, operations: &[DiffOp]) -> Vec<TextChange<'a>> {
        let of = |operation: &DiffOp| operation.iter_changes(&self.old, &self.new);
        let listed = operations.iter().flat_map(of).map(|change| {
            let kind = match change.tag() {
                ChangeTag::Equal => TextChangeKind::Equal,
                ChangeTag::Delete => TextChangeKind::Removed,
                ChangeTag::Insert => TextChangeKind::Added,
            };
            TextChange { kind, text: change.value() }
        });
        listed.collect()
    }
}

/// An empty range refers to the line before it.
fn render_line_range(start: usize, length: usize) -> String {
    match length {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        _ => format!("{},{length}", start + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use similar::TextDiff;

    fn any_text() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec!["a\n", "b\n", "c\n", "d\r\n", "e\r", "\n", "f"]);
        prop::collection::vec(line, 0..160).prop_map(|lines| lines.concat())
    }

    proptest! {
        #[test]
        fn it_is_the_difference_the_library_gives(old in any_text(), new in any_text()) {
            let theirs = TextDiff::from_lines(old.as_str(), new.as_str());
            let ours = TextDifference::of_lines(&old, &new);
            prop_assert_eq!(theirs.ops(), ours.operations.as_slice());
            let unified = theirs.unified_diff().context_radius(3).header("a/x", "b/x").to_string();
            prop_assert_eq!(unified, ours.to_unified("a/x", "b/x", 3));
            let count = |tag| theirs.iter_all_changes().filter(|one| one.tag() == tag).count();
            let counts = ChangedLineCounts {
                insertions: count(ChangeTag::Insert),
                deletions: count(ChangeTag::Delete),
            };
            prop_assert_eq!(ours.count_changes(), counts);
        }
    }
}
