//! The glossary speaks of what exists: a name it writes in backticks is a word of the code, and a term is
//! the name of something there, or its entry gives one in backticks.
//!
//! A term whose type was renamed sends its reader looking for something that is gone. Paths are
//! left to the rule `map`; words of a user's own, such as a permission rule, stand in quotes.

use std::collections::BTreeSet;

use super::source::{identifiers, is_word_char, split_source, split_words};
use super::{Finding, RepositoryTree};

const GLOSSARY: &str = "docs/glossary.md";

/// Compares the glossary with the sources of every crate.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let Some(glossary) = tree.file(GLOSSARY) else {
        return vec![Finding::new(GLOSSARY, "is missing")];
    };
    let words = collect_names(tree);
    let phrases: BTreeSet<String> = words.iter().map(|name| to_phrase(name)).collect();
    let phrases = Vec::from_iter(phrases).join("\n");
    let mut findings = Vec::new();
    for (index, line) in glossary.text.lines().enumerate() {
        for term in code_names(line) {
            let mut parts = term.split(|c: char| !is_word_char(c)).filter(|part| !part.is_empty());
            if let Some(unknown) = parts.find(|part| !words.contains(*part)) {
                let problem = format!("`{term}`: no crate says `{unknown}`");
                findings.push(Finding::on_line(GLOSSARY, index, problem));
            }
        }
    }
    for entry in read_entries(&glossary.text) {
        if code_names(&entry.text).next().is_some() {
            continue;
        }
        for term in entry.terms.split(", ").filter(|term| !is_said(term, &phrases)) {
            let problem = format!("{term}: no crate says so; name what does, or drop the entry");
            findings.push(Finding::on_line(GLOSSARY, entry.line, problem));
        }
    }
    findings
}

/// The names in the code of every crate, the names of crates and files among them.
fn collect_names(tree: &RepositoryTree) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = tree.crates.iter().map(|one| one.name.clone()).collect();
    let xtask = tree.files_below("xtask/src").filter(|file| file.path.ends_with(".rs"));
    for file in tree.crate_sources().map(|(_, file)| file).chain(xtask) {
        let code = split_source(&file.text).code;
        let of_path = identifiers(&file.path);
        names.extend(of_path.chain(identifiers(&code)).map(|(_, word)| word.to_owned()));
    }
    names
}

/// The names between backticks; paths are not names.
fn code_names(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).filter(|term| !term.contains('/'))
}

/// One entry: where it begins, its term or terms, and all of its text.
struct GlossaryEntry<'a> {
    line: usize,
    terms: &'a str,
    text: String,
}

fn read_entries(text: &str) -> Vec<GlossaryEntry<'_>> {
    let mut entries: Vec<GlossaryEntry<'_>> = Vec::new();
    for (line, content) in text.lines().enumerate() {
        match content.strip_prefix("- **").and_then(|rest| rest.split_once("**")) {
            Some((terms, text)) => {
                entries.push(GlossaryEntry { line, terms, text: text.to_owned() });
            }
            None => entries.iter_mut().next_back().into_iter().for_each(|entry| {
                entry.text.push('\n');
                entry.text.push_str(content);
            }),
        }
    }
    entries
}

/// `_context_level_` for `ContextLevel` and `context_level`.
fn to_phrase(name: &str) -> String {
    format!("_{}_", Vec::from_iter(split_words(name)).join("_"))
}

/// Do the words of this term stand side by side in a name, or together as one word?
fn is_said(term: &str, phrases: &str) -> bool {
    let words: Vec<String> =
        term.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect();
    [words.join("_"), words.concat()].iter().any(|form| {
        phrases.contains(&format!("_{form}_")) || phrases.contains(&format!("_{form}s_"))
    })
}
