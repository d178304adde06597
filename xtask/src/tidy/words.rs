//! Names that admit anything, and leftovers.
//!
//! A folder called after nothing in particular collects everything in particular. A note to do
//! something later is never read later; a test that is switched off asserts nothing.

use super::source::{identifiers, split_source};
use super::{Finding, RepositoryTree, TextFile};

/// Names that say nothing, refused as a whole name or as a part of one.
const VAGUE_NAMES: &[&str] = &[
    "core",
    "common",
    "util",
    "utils",
    "helper",
    "helpers",
    "manager",
    "service",
    "handler",
    "processor",
    "data",
    "info",
    "misc",
];

/// Names with such a word in them that say enough: what a prompt handler handles is a prompt.
const ALLOWED_NAMES: &[&str] = &["prompt_handler"];

/// Notes to do something later.
const TODO_MARKERS: &[&str] = &["TODO", "FIXME", "XXX", "HACK"];

/// Code that is not finished, or tests that do not run.
const UNFINISHED_MARKERS: &[&str] = &["dbg!", "todo!", "unimplemented!", "#[ignore"];

/// Words that no reader of today expects in technical prose. The engine keeps its own; decisions and
/// the changelog are history.
const QUAINT_WORDS: &[&str] = &["somebody", "whoever", "shall"];

/// Looks at every name and every line that people write.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for one in &tree.crates {
        check_name(&one.folder, &one.name, &mut findings);
    }
    for file in &tree.files {
        if file.path.ends_with(".rs") {
            for part in source_names(&file.path) {
                check_name(&file.path, part, &mut findings);
            }
            check_rust(file, &mut findings);
        } else if file.path.ends_with(".md") {
            check_markdown(file, &mut findings);
        } else if file.path.ends_with(".toml") || file.path.starts_with(".ci/") {
            check_todo_markers(&file.path, &file.text, &mut findings);
        }
        if is_plain_prose(&file.path) {
            check_quaint_words(file, &mut findings);
        }
    }
    findings
}

/// Sources, help texts and pages that people read.
fn is_plain_prose(path: &str) -> bool {
    let of_crate = path.strip_prefix("crates/").and_then(|inside| inside.split_once('/'));
    match of_crate {
        Some((name, inside)) => name != "engine" && inside.starts_with("src/"),
        None => path.starts_with("docs/") && !path.starts_with("docs/decisions/"),
    }
}

fn check_quaint_words(file: &TextFile, findings: &mut Vec<Finding>) {
    for (line, word) in identifiers(&file.text) {
        if QUAINT_WORDS.iter().any(|quaint| word.eq_ignore_ascii_case(quaint)) {
            let problem = format!("`{word}`: say who, in plain words (the user, the caller)");
            findings.push(Finding::on_line(&file.path, line, problem));
        }
    }
}

/// The folder and file names below `src`, `tests`, `benches` or `examples`.
pub(super) fn source_names(path: &str) -> impl Iterator<Item = &str> {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    stem.split('/')
        .skip_while(|part| !["src", "tests", "benches", "examples"].contains(part))
        .skip(1)
}

fn check_name(place: &str, name: &str, findings: &mut Vec<Finding>) {
    let parts = name.split(['_', '-']).filter(|_| !ALLOWED_NAMES.contains(&name));
    for part in parts {
        if VAGUE_NAMES.contains(&part) {
            let problem = format!("`{part}` says nothing; name it after what it is or does");
            findings.push(Finding::new(place, problem));
        }
    }
    let version = name.rsplit_once("_v").map(|(_, number)| number);
    if version.is_some_and(|number| number.parse::<u32>().is_ok()) {
        findings.push(Finding::new(place, "a second version beside the first; replace it instead"));
    }
}

fn check_rust(file: &TextFile, findings: &mut Vec<Finding>) {
    let source = split_source(&file.text);
    check_todo_markers(&file.path, &source.comments, findings);
    for (index, line) in source.code.lines().enumerate() {
        for leftover in UNFINISHED_MARKERS {
            if occurs_at_word_start(line, leftover) {
                let problem = format!("`{leftover}` is not for the main branch");
                findings.push(Finding::on_line(&file.path, index, problem));
            }
        }
        if let Some(module) = parse_module_declaration(line) {
            check_name(&format!("{}:{}", file.path, index + 1), module, findings);
        }
    }
}

/// Is this text here, and not merely the end of a longer word?
fn occurs_at_word_start(line: &str, text: &str) -> bool {
    line.match_indices(text).any(|(at, _)| {
        let before = line.split_at_checked(at).map_or("", |(before, _)| before);
        !before.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_')
    })
}

/// The module a line declares.
pub(super) fn parse_module_declaration(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let declared = match line.strip_prefix("pub") {
        Some(rest) => rest
            .split_once("mod ")
            .map(|(_, after)| after)
            .filter(|_| rest.trim_start().starts_with("mod ") || rest.starts_with('('))?,
        None => line.strip_prefix("mod ")?,
    };
    declared.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()
}

/// Prose may speak of these notes between backticks, as this rule's own documentation must.
fn check_markdown(file: &TextFile, findings: &mut Vec<Finding>) {
    let mut is_fenced = false;
    let mut plain = String::new();
    for line in file.text.lines() {
        is_fenced ^= line.trim_start().starts_with("```");
        if !is_fenced {
            line.split('`').step_by(2).for_each(|piece| plain.push_str(piece));
        }
        plain.push('\n');
    }
    check_todo_markers(&file.path, &plain, findings);
}

fn check_todo_markers(path: &str, text: &str, findings: &mut Vec<Finding>) {
    for (line, word) in identifiers(text) {
        if TODO_MARKERS.contains(&word) {
            let problem = format!("`{word}`: do it, or write down why not in docs/decisions");
            findings.push(Finding::on_line(path, line, problem));
        }
    }
}
