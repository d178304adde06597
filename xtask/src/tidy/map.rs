//! The map is true: the crate table of `ARCHITECTURE.md` lists the crates that exist with the edges
//! they may have, and every path a document names can be opened.
//!
//! Paths into a crate that has not been begun wait until it is.

use std::collections::BTreeSet;

use super::edges::ALLOWED_DEPENDENCIES;
use super::{Finding, RepositoryTree};

const MAP_PAGE: &str = "ARCHITECTURE.md";

/// A backticked word that starts with one of these is a path from the root.
const PATH_PREFIXES: &[&str] =
    &["crates/", "scenarios/", "cassettes/", "docs/", "xtask/", ".ci/", ".cargo/"];

/// Compares the documents with the tree.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    match tree.file(MAP_PAGE) {
        Some(map) => check_crate_table(tree, &map.text, &mut findings),
        None => findings.push(Finding::new(MAP_PAGE, "is missing")),
    }
    for file in &tree.files {
        let is_document = file.path.starts_with("docs/") || !file.path.contains('/');
        if !is_document || !file.path.ends_with(".md") {
            continue;
        }
        for (index, line) in file.text.lines().enumerate() {
            for word in line.split('`').skip(1).step_by(2) {
                if PATH_PREFIXES.iter().any(|root| word.starts_with(root))
                    && !path_exists(tree, word)
                {
                    let problem = format!("`{word}` is not there");
                    findings.push(Finding::on_line(&file.path, index, problem));
                }
            }
        }
    }
    findings
}

fn check_crate_table(tree: &RepositoryTree, map: &str, findings: &mut Vec<Finding>) {
    let rows: Vec<Vec<&str>> = map
        .lines()
        .skip_while(|line| !line.starts_with("| crate |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let mut listed = BTreeSet::new();
    for row in &rows {
        let [name, _, sees, ..] = row.as_slice() else {
            findings.push(Finding::new(MAP_PAGE, "a row of the crate table is too short"));
            continue;
        };
        let name = name.trim_matches('`');
        listed.insert(name);
        let written: BTreeSet<&str> = sees.split('`').skip(1).step_by(2).collect();
        let allowed =
            ALLOWED_DEPENDENCIES.iter().find(|(other, _)| *other == name).map(|(_, edges)| *edges);
        if allowed.is_some_and(|edges| edges.iter().copied().collect::<BTreeSet<_>>() != written) {
            let problem = format!("what `{name}` may see differs from xtask/src/tidy/edges.rs");
            findings.push(Finding::new(MAP_PAGE, problem));
        }
    }
    let members: BTreeSet<&str> = tree.crates.iter().map(|one| one.name.as_str()).collect();
    for name in members.difference(&listed) {
        findings.push(Finding::new(MAP_PAGE, format!("the crate table lacks `{name}`")));
    }
    for name in listed.difference(&members) {
        findings.push(Finding::new(
            MAP_PAGE,
            format!("the crate table has `{name}`, the tree has not"),
        ));
    }
}

/// Is there a file or folder like this? `*` stands for any part of a name, `<…>` for any name.
fn path_exists(tree: &RepositoryTree, pattern: &str) -> bool {
    let parts: Vec<&str> = pattern.trim_end_matches('/').split('/').collect();
    if is_not_begun(tree, &parts) {
        return true;
    }
    tree.files.iter().any(|file| {
        let names: Vec<&str> = file.path.split('/').collect();
        names.len() >= parts.len()
            && parts.iter().zip(&names).all(|(part, name)| matches_pattern(part, name))
    })
}

/// Does this path belong to something that is not begun yet?
fn is_not_begun(tree: &RepositoryTree, parts: &[&str]) -> bool {
    match parts {
        ["crates", name, _, ..] => {
            tree.crates.iter().any(|one| one.name == *name) && !tree.is_begun(name)
        }
        ["scenarios", ..] => !tree.is_begun("lab"),
        ["cassettes", ..] => !tree.is_begun("rehearsal"),
        _ => false,
    }
}

fn matches_pattern(part: &str, name: &str) -> bool {
    if part.starts_with('<') {
        return true;
    }
    match part.split_once('*') {
        Some((before, after)) => {
            name.len() >= before.len() + after.len()
                && name.starts_with(before)
                && name.ends_with(after)
        }
        None => part == name,
    }
}
