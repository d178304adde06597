//! No struct with more named fields than a reader can hold.
//!
//! Fields that change together belong together in a struct of their own; a field that has a value
//! only in some states belongs into an enum.

use super::declarations::{TypeKind, find_type_declarations, split_at_commas};
use super::source::{blank_tests, split_source};
use super::{Finding, RepositoryTree};

const FIELDS_MAX: usize = 15;

/// Looks at every struct that a crate declares.
#[must_use]
pub fn check(tree: &RepositoryTree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (_, file) in tree.crate_sources() {
        let code = blank_tests(&split_source(&file.text).code);
        let structs = find_type_declarations(&code);
        for declared in structs.iter().filter(|one| one.kind == TypeKind::Struct) {
            let fields = split_at_commas(declared.body).len();
            if fields > FIELDS_MAX {
                let problem = format!(
                    "struct {} has {fields} fields; at most {FIELDS_MAX}, group what changes \
                     together",
                    declared.name
                );
                findings.push(Finding::on_line(&file.path, declared.line, problem));
            }
        }
    }
    findings
}
