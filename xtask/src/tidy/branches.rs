//! The driver performs and does not decide.
//!
//! Telling the members of `Transition` or `Terminal` apart in the driver means that some rule of the
//! loop has slipped out of the engine, where the walk can no longer see it. Carrying such a value
//! along, asking it a question of its own (`is_error`), or making one because the engine itself broke
//! down, is fine. A branch is recognised by what stands around the name: an arrow, a comparison, or
//! `matches!`.

use super::source::{blank_tests, split_source};
use super::{Finding, RepositoryTree};

/// Families whose members only the engine may tell apart.
const ENGINE_ONLY_FAMILIES: &[&str] = &["Transition::", "Terminal::"];

/// Looks at every source file of the driver.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files_below("crates/driver/src").filter(|file| file.path.ends_with(".rs")) {
        let code = blank_tests(&split_source(&file.text).code);
        for family in ENGINE_ONLY_FAMILIES {
            for (at, _) in code.match_indices(family) {
                let (before, after) = code.split_at_checked(at).unwrap_or((&code, ""));
                let member = after.strip_prefix(family).unwrap_or(after);
                if is_branch(before, member) {
                    let problem =
                        format!("a branch on {family}…; which one it is, the engine decides");
                    let line = before.matches('\n').count();
                    findings.push(Finding::on_line(&file.path, line, problem));
                }
            }
        }
    }
    findings
}

/// Is the member that begins here told apart from the others? Methods begin with a small letter.
fn is_branch(before: &str, member: &str) -> bool {
    if !member.starts_with(char::is_uppercase) {
        return false;
    }
    let statement = before.rsplit([';', '{', '}']).next().unwrap_or(before);
    let path = statement.rsplit(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).next();
    let leading = statement.strip_suffix(path.unwrap_or("")).unwrap_or(statement).trim_end();
    let is_compared = leading.ends_with("==") || leading.ends_with("!=");
    // Past the name itself and past what closes a pattern, a branch shows itself.
    let following = member
        .trim_start_matches(|c: char| c.is_alphanumeric() || c == '_')
        .trim_start_matches(|c: char| c.is_whitespace() || ",.)}".contains(c));
    let is_pattern = ["=>", "==", "!=", "= ", "if ", "| "].iter().any(|s| following.starts_with(s));
    is_compared || is_pattern || statement.contains("matches!")
}
