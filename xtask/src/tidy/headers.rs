//! Every Rust file opens with `//!`: what is decided or done here, and what deliberately is not.
//!
//! Only the presence can be checked; that the words are true is for the reviewer.

use super::{Finding, RepositoryTree};

/// Fewer letters than this say nothing.
const LETTERS_MIN: usize = 12;

/// Looks at every Rust file of the tree.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let bare = tree.rust_files().filter(|file| {
        let first = file.text.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
        let words = first.strip_prefix("//!").unwrap_or("");
        words.chars().filter(|character| character.is_alphabetic()).count() < LETTERS_MIN
    });
    bare.map(|file| Finding::new(&file.path, "must open with `//!` and what the file is for"))
        .collect()
}
