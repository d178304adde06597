//! The driver performs and does not decide.
//!
//! Naming a member of `Transition` or `Terminal` in the driver means that some rule of the loop has
//! slipped out of the engine, where the checker can no longer see it. Carrying such a value along,
//! or asking it a question of its own (`is_error`), is fine.

use super::source::{split, without_tests};
use super::{Finding, Tree};

/// Families whose members only the engine may tell apart.
const FAMILIES: &[&str] = &["Transition::", "Terminal::"];

/// Looks at every source file of the driver.
#[must_use]
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.below("crates/driver/src") {
        if !file.path.ends_with(".rs") {
            continue;
        }
        let code = without_tests(&split(&file.text).code);
        for (index, line) in code.lines().enumerate() {
            for family in FAMILIES {
                if names_member(line, family) {
                    let problem =
                        format!("{family}… is named; which one it is, the engine decides");
                    findings.push(Finding::on_line(&file.path, index, problem));
                }
            }
        }
    }
    findings
}

/// Is a variant or a constant of this family named here? Methods begin with a small letter.
fn names_member(line: &str, family: &str) -> bool {
    line.match_indices(family).any(|(at, _)| {
        let (before, after) = line.split_at_checked(at).unwrap_or((line, ""));
        let is_whole = !before
            .chars()
            .next_back()
            .is_some_and(|c| c.is_alphanumeric() || c == '_');
        let member = after.strip_prefix(family).unwrap_or(after);
        is_whole && member.starts_with(|c: char| c.is_uppercase() || c == '{' || c == '*')
    })
}
