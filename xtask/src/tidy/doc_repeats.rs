//! No doc comment that only repeats the name below it.
//!
//! Such a line costs a reader time and teaches them to skip the others. Looked at are comments of one
//! line in `src`. `engine` and `permission` are exempt, and so are files whose doc comments are program
//! text: help and schemas. `missing_docs`, which some crates ask for, is no excuse: what it demands on
//! everything public is a line that says something.

use std::collections::BTreeSet;

use super::source::{blank_tests, is_word_char, split_source, split_words};
use super::{Finding, RepositoryTree};

const EXEMPT_CRATES: &[&str] = &["engine", "permission"];

/// A file that names one of these may turn doc comments into help or schemas.
const PROGRAM_TEXT_MARKERS: &[&str] = &["JsonSchema", "clap"];

/// Words that add nothing to a name.
const FILLER_WORDS: &[&str] = &[
    "a", "all", "an", "and", "are", "as", "at", "be", "been", "by", "each", "every", "for", "from",
    "has", "have", "how", "in", "is", "it", "its", "many", "new", "of", "on", "one", "or", "own",
    "so", "some", "that", "the", "their", "there", "they", "this", "these", "to", "was", "were",
    "what", "which", "who", "whose", "with",
];

/// Words before the name of an item.
const ITEM_WORDS: &[&str] = &[
    "async", "const", "crate", "enum", "extern", "fn", "impl", "mod", "mut", "pub", "static",
    "struct", "super", "trait", "type", "unsafe",
];

/// Looks at every doc comment of one line.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (owner, file) in tree.crate_sources() {
        let is_exempt = EXEMPT_CRATES.contains(&owner)
            || PROGRAM_TEXT_MARKERS.iter().any(|marker| file.text.contains(marker));
        if is_exempt {
            continue;
        }
        for (line, text) in find_repeats(&file.text) {
            let problem =
                format!("`{text}` only repeats the name; say what is not obvious, or nothing");
            findings.push(Finding::on_line(&file.path, line, problem));
        }
    }
    findings
}

/// The comments that repeat the name below them, each with its line, counted from zero.
fn find_repeats(text: &str) -> Vec<(usize, &str)> {
    let code = blank_tests(&split_source(text).code);
    let lines: Vec<(&str, &str)> = text.lines().zip(code.lines()).collect();
    let mut found = Vec::new();
    for (index, window) in lines.windows(3).enumerate() {
        let [(before, _), (comment, _), (after, _)] = window else { continue };
        let [before, comment, after] = [before.trim(), comment.trim(), after.trim()];
        if !comment.starts_with("///") || before.starts_with("///") || after.starts_with("///") {
            continue;
        }
        let below = lines.get(index + 2..).unwrap_or_default().iter().map(|(_, code)| code.trim());
        let item = below.filter(|code| !code.is_empty()).find(|code| !code.starts_with("#["));
        if let Some(name) = item.and_then(item_name)
            && repeats(comment, name)
        {
            found.push((index + 1, comment));
        }
    }
    found
}

/// The name that a line of code introduces: an item, a field or a variant.
fn item_name(code: &str) -> Option<&str> {
    code.split(|c: char| !is_word_char(c))
        .find(|word| !word.is_empty() && !ITEM_WORDS.contains(word))
}

fn repeats(comment: &str, name: &str) -> bool {
    let name: BTreeSet<String> = split_words(name).map(|word| stem(&word)).collect();
    comment
        .split(|c: char| !c.is_alphanumeric())
        .map(str::to_lowercase)
        .filter(|word| !word.is_empty() && !FILLER_WORDS.contains(&word.as_str()))
        .all(|word| name.contains(&stem(&word)))
}

/// One form of a word for "limit", "limits", "limited".
fn stem(word: &str) -> String {
    let word = word.strip_suffix("ed").or_else(|| word.strip_suffix("es")).unwrap_or(word);
    word.trim_end_matches(['s', 'e']).to_owned()
}
