//! No function named by a participle alone.
//!
//! A function does something, so its name is a verb: `compose`, not `composed`. A participle before a
//! noun is fine (`queued_messages`), and so are names that the field or a trait of a library sets.
//! `engine` is exempt: its names say what happened.

use super::source::{blank_tests, is_word_char, split_source};
use super::{Finding, RepositoryTree};

/// Verbs in their base form that look like participles.
const VERBS: &[&str] =
    &["bleed", "embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed", "succeed"];

/// Errors and times as the field calls them, a method of a library's trait, a glossary term, and the
/// report of a lease's renewal.
const ALLOWED_NAMES: &[&str] = &["cancelled", "elapsed", "failed", "matched", "uncovered"];

/// Participles without the usual ending.
const IRREGULAR_PARTICIPLES: &[&str] = &[
    "begun", "broken", "chosen", "drawn", "driven", "found", "given", "gone", "heard", "held",
    "kept", "known", "made", "misread", "said", "seen", "sent", "shown", "taken", "told",
    "written",
];

/// Looks at every function of every crate but the engine.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (_, file) in tree.crate_sources().filter(|(owner, _)| *owner != "engine") {
        let code = blank_tests(&split_source(&file.text).code);
        for (line, text) in code.lines().enumerate() {
            if let Some(name) = find_function_name(text).filter(|name| is_participle(name)) {
                let problem = format!("`{name}` is a participle; name what the function does");
                findings.push(Finding::on_line(&file.path, line, problem));
            }
        }
    }
    findings
}

/// The function that a line of code declares.
fn find_function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_keyword = !before.ends_with(is_word_char);
    after.split(|c: char| !is_word_char(c)).next().filter(|name| is_keyword && !name.is_empty())
}

fn is_participle(name: &str) -> bool {
    let is_one_word = !name.contains('_');
    let is_excepted = VERBS.contains(&name) || ALLOWED_NAMES.contains(&name);
    let has_form = name.ends_with("ed") || IRREGULAR_PARTICIPLES.contains(&name);
    is_one_word && has_form && !is_excepted
}
