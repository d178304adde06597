//! Renders file differences as unified diffs, each with a heading.

pub use windlass_text_diff::ChangedLineCounts;
use windlass_text_diff::TextDifference;

use crate::{FileDifference, HeldContent};

/// Counts inserted and deleted lines. `None` if a side is not text or not stored.
#[must_use]
pub fn count_differences(file: &FileDifference) -> Option<ChangedLineCounts> {
    let (old, new) = to_text(&file.before).zip(to_text(&file.after))?;
    Some(TextDifference::of_lines(&old, &new).count_changes())
}

/// The unified diff of one file. `None` if a side is not text or not stored.
#[must_use]
pub fn render_difference(file: &FileDifference) -> Option<String> {
    let FileDifference { path, before, after, .. } = file;
    let (old, new) = to_text(before).zip(to_text(after))?;
    let [from, to] = [(before, "a"), (after, "b")].map(|(held, side)| match held {
        HeldContent::Nothing => "/dev/null".to_owned(),
        HeldContent::File(..) | HeldContent::Link(_) | HeldContent::NotKept => {
            format!("{side}/{path}")
        }
    });
    Some(TextDifference::of_lines(&old, &new).to_unified(&from, &to, 3))
}

/// Renders all files, each with a heading that says what kind of change it is.
#[must_use]
pub fn render_differences(files: &[FileDifference]) -> String {
    let mut text = String::new();
    for file in files {
        text.push_str(&render_heading(file));
        text.push_str(&render_difference(file).unwrap_or_default());
    }
    text
}

fn render_heading(file: &FileDifference) -> String {
    let counts = match count_differences(file) {
        Some(ChangedLineCounts { insertions, deletions }) => format!("+{insertions} -{deletions}"),
        None => "not text, or not kept".to_owned(),
    };
    let mode = match (&file.before, &file.after) {
        (HeldContent::File(_, old), HeldContent::File(_, new)) if old != new => {
            format!("mode {:o} -> {:o}\n", old & 0o7777, new & 0o7777)
        }
        _ => String::new(),
    };
    format!("diff {} ({}, {counts})\n{mode}", file.path, file.kind.name())
}

/// Content as text; an absent file is empty. `None` for content that is not text or too large.
fn to_text(held: &HeldContent) -> Option<String> {
    match held {
        HeldContent::Nothing => Some(String::new()),
        HeldContent::File(bytes, _) if bytes.len() <= TEXT_BYTES_MAX => {
            String::from_utf8(bytes.clone()).ok().filter(|text| !text.contains('\0'))
        }
        HeldContent::Link(target) => Some(format!("link to {}\n", String::from_utf8_lossy(target))),
        HeldContent::File(..) | HeldContent::NotKept => None,
    }
}

const TEXT_BYTES_MAX: usize = 4 << 20;
