//! One name, one meaning: no two types of the workspace share a name.
//!
//! A search for a type then finds one declaration, and a reader of one crate is not misled by the
//! other. Only what ships is looked at: tests may call their fixtures what they like.

use std::collections::BTreeMap;

use super::declarations::find_type_declarations;
use super::source::{blank_tests, split_source};
use super::{Finding, RepositoryTree};

/// Names that may be declared more than once, each with its reason.
const SHARED_NAMES: &[(&str, &str)] = &[
    ("Entry", "private to two modules of `engine`, each a row of its own list"),
    ("Open", "private to two modules of `engine`, each a row that waits for its answer"),
    ("Cell", "linux and unsupported.rs of `sandbox` are compiled one at a time"),
    ("PreparedCell", "linux and unsupported.rs of `sandbox` are compiled one at a time"),
    ("Sandbox", "linux.rs and unsupported.rs of `sandbox` are compiled one at a time"),
    ("SandboxLaunch", "linux.rs and unsupported.rs of `sandbox` are compiled one at a time"),
    ("SandboxCleanup", "linux.rs and unsupported.rs of `sandbox` are compiled one at a time"),
    (
        "RevertedProtectedFile",
        "linux.rs and unsupported.rs of `sandbox` are compiled one at a time",
    ),
];

const OWN_FILE: &str = "xtask/src/tidy/type_names.rs";

/// Looks at every type that a crate declares.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut places: BTreeMap<String, Vec<(&str, usize)>> = BTreeMap::new();
    for (_, file) in tree.crate_sources() {
        let code = blank_tests(&split_source(&file.text).code);
        for declared in find_type_declarations(&code) {
            let seen = places.entry(declared.name.to_owned()).or_default();
            seen.push((&file.path, declared.line));
        }
    }
    let mut findings = Vec::new();
    for (name, seen) in &places {
        let is_shared = SHARED_NAMES.iter().any(|(shared, _)| shared == name);
        let [(first, first_line), others @ ..] = seen.as_slice() else {
            continue;
        };
        if is_shared && others.is_empty() {
            let problem = format!("`{name}` is declared once; take the exception out");
            findings.push(Finding::new(OWN_FILE, problem));
        }
        for (path, line) in others.iter().filter(|_| !is_shared) {
            let problem = format!(
                "`{name}` is also the type of {first}:{}; say of what it is one",
                first_line + 1
            );
            findings.push(Finding::on_line(path, *line, problem));
        }
    }
    findings
}
