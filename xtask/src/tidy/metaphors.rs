//! No file, module or type called after something that it only resembles.
//!
//! A reader searches for the word of the field: the event loop, not the desk. The product's own
//! nouns (engine, dialect, journal, rehearsal, …) stand in the glossary and are not listed here.
//! `engine` is exempt: its names say what they are.

use super::declarations::find_type_declarations;
use super::source::{blank_tests, split_source};
use super::words::{parse_module_declaration, source_names};
use super::{Finding, RepositoryTree};

/// Refused as a whole name and as a word of one.
const METAPHORS: &[&str] = &[
    "desk", "stage", "curtain", "ears", "eyes", "hands", "darkroom", "shelf", "bell", "bench",
    "seat", "cast", "portrait", "doorman", "scribe", "narrator", "keeper", "purse", "swarm",
    "crowd", "vault", "atlas", "diary", "counsel", "nest", "mold", "law",
];

/// Refused as a whole name: they say what happened to a thing, not what the thing is.
const NOT_NOUNS: &[&str] = &[
    "told", "said", "kept", "found", "asked", "heard", "wish", "wishes", "late", "outside",
    "waits", "offer",
];

/// Looks at the files, modules and types of every crate but the engine.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust_files().filter(|file| is_judged(&file.path)) {
        for part in source_names(&file.path) {
            if let Some(problem) = find_metaphor(part) {
                findings.push(Finding::new(&file.path, problem));
            }
        }
        let code = blank_tests(&split_source(&file.text).code);
        for (line, text) in code.lines().enumerate() {
            if let Some(problem) = parse_module_declaration(text).and_then(find_metaphor) {
                findings.push(Finding::on_line(&file.path, line, problem));
            }
        }
        for declared in find_type_declarations(&code) {
            if let Some(problem) = find_metaphor(&to_snake_case(declared.name)) {
                findings.push(Finding::on_line(&file.path, declared.line, problem));
            }
        }
    }
    findings
}

fn is_judged(path: &str) -> bool {
    path.starts_with("crates/") && !path.starts_with("crates/engine/")
}

fn find_metaphor(name: &str) -> Option<String> {
    if NOT_NOUNS.contains(&name) {
        return Some(format!("`{name}` is no noun; name it after what it holds"));
    }
    let metaphor = name.split('_').find(|word| METAPHORS.contains(word))?;
    Some(format!("`{metaphor}` is a metaphor; use the word of the field"))
}

fn to_snake_case(name: &str) -> String {
    let mut snake = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(character.to_lowercase());
    }
    snake
}
