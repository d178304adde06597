//! No crate that has become a place for everything.
//!
//! Past these limits a crate holds several things that could be read, tested and fenced off alone.
//! `cli` is held lower: it parses arguments, starts what other crates do, and prints.

use super::{Finding, RepositoryTree};

const LINES_MAX: usize = 15_000;

/// Crates with a limit of their own.
const OWN_LIMITS: &[(&str, usize)] = &[("cli", 7_000)];

/// Counts the lines of every crate.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for one in tree.crates.iter().filter(|one| one.folder.starts_with("crates/")) {
        let folder = format!("{}/src", one.folder);
        let sources = tree.files_below(&folder).filter(|file| file.path.ends_with(".rs"));
        let lines: usize = sources.map(|file| file.text.lines().count()).sum();
        let limit = OWN_LIMITS.iter().find(|(name, _)| *name == one.name);
        let limit = limit.map_or(LINES_MAX, |(_, limit)| *limit);
        if lines > limit {
            let problem = format!("has {lines} lines; at most {limit}, move a part into a crate");
            findings.push(Finding::new(&one.folder, problem));
        }
    }
    findings
}
