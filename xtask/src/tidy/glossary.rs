//! The glossary speaks of what exists: a name it writes in backticks is a word of the code.
//!
//! A term whose type was renamed sends its reader looking for something that is gone. Paths are
//! left to the rule `map`; words of a user's own, such as a permission rule, stand in quotes.

use std::collections::BTreeSet;

use super::source::{identifiers, is_word_char, split_source};
use super::{Finding, RepositoryTree};

const GLOSSARY: &str = "docs/glossary.md";

/// Compares the glossary with the sources of every crate.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let Some(glossary) = tree.file(GLOSSARY) else {
        return vec![Finding::new(GLOSSARY, "is missing")];
    };
    let mut words: BTreeSet<String> = tree.crates.iter().map(|one| one.name.clone()).collect();
    for (_, file) in tree.crate_sources() {
        let code = split_source(&file.text).code;
        words.extend(identifiers(&code).map(|(_, word)| word.to_owned()));
    }
    let mut findings = Vec::new();
    for (index, line) in glossary.text.lines().enumerate() {
        for term in line.split('`').skip(1).step_by(2).filter(|term| !term.contains('/')) {
            let mut parts = term.split(|c: char| !is_word_char(c)).filter(|part| !part.is_empty());
            if let Some(unknown) = parts.find(|part| !words.contains(*part)) {
                let problem = format!("`{term}`: no crate says `{unknown}`");
                findings.push(Finding::on_line(GLOSSARY, index, problem));
            }
        }
    }
    findings
}
