//! Every crate obeys the same lints and comes in one shape.
//!
//! A crate that forgets `[lints] workspace = true` is not linted at all, silently. A Cargo feature
//! doubles the number of programs that exist and halves how well each is tested.

use super::{Finding, RepositoryTree};

/// Looks at every manifest of the workspace.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for one in &tree.crates {
        let place = format!("{}/Cargo.toml", one.folder);
        let lints = one.manifest.get("lints").and_then(|table| table.get("workspace"));
        if lints.and_then(toml::Value::as_bool) != Some(true) {
            findings.push(Finding::new(&place, "must say `[lints] workspace = true`"));
        }
        if one.manifest.contains_key("features") {
            findings.push(Finding::new(&place, "has Cargo features; make it a setting"));
        }
    }
    findings
}
