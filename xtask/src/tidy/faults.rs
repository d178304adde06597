//! The page of faults names tests that exist.
//!
//! A row whose test was renamed or dropped would go on promising what nobody shows.

use std::collections::BTreeSet;

use super::source::find_functions;
use super::{Finding, RepositoryTree, TextFile};

const FAULTS_PAGE: &str = "docs/faults.md";

/// Looks at every row of the page.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let Some(page) = tree.file(FAULTS_PAGE) else {
        return vec![Finding::new(FAULTS_PAGE, "is missing")];
    };
    let names: BTreeSet<&str> = tree
        .rust_files()
        .flat_map(|file: &TextFile| find_functions(&file.text))
        .map(|function| function.name)
        .collect();
    let mut findings = Vec::new();
    for (index, line) in page.text.lines().enumerate() {
        let Some(row) = line.strip_prefix("| ").filter(|row| starts_with_fault_number(row)) else {
            continue;
        };
        let (_, shown_by) = row.trim_end_matches([' ', '|']).rsplit_once('|').unwrap_or((row, ""));
        let tests: Vec<&str> = shown_by.split('`').skip(1).step_by(2).collect();
        if tests.is_empty() {
            findings.push(Finding::on_line(FAULTS_PAGE, index, "no test shows this row"));
        }
        for test in tests.into_iter().filter(|test| !names.contains(test)) {
            findings.push(Finding::on_line(
                FAULTS_PAGE,
                index,
                format!("there is no test `{test}`"),
            ));
        }
    }
    findings
}

/// A letter for the family, and a number.
fn starts_with_fault_number(row: &str) -> bool {
    let mut letters = row.chars();
    letters.next().is_some_and(|letter| letter.is_ascii_uppercase())
        && letters.next().is_some_and(|digit| digit.is_ascii_digit())
}
