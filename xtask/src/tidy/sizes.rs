//! Which files and functions have grown. A report; it fails nothing.
//!
//! A limit that fails a build is met by cutting a file in two at the wrong place. A list that is
//! printed every time is met by thinking.

use super::purity::PURE_CRATES;
use super::source::{find_functions, split_source};
use super::{Finding, RepositoryTree};

/// Lines of a file in a pure crate before it is worth a second look.
const PURE_LINES: usize = 400;

/// Lines of any other file.
const FILE_LINES: usize = 600;

/// Lines of a function's body.
const FUNCTION_LINES: usize = 70;

/// Everything that is over.
#[must_use]
pub fn report(tree: &RepositoryTree) -> Vec<Finding> {
    let mut notes = Vec::new();
    for file in tree.rust_files() {
        let is_pure = PURE_CRATES
            .iter()
            .any(|(name, _)| file.path.starts_with(&format!("crates/{name}/src/")));
        let limit = if is_pure { PURE_LINES } else { FILE_LINES };
        let lines = file.text.lines().count();
        if lines > limit {
            let problem = format!("{lines} lines, look again when over {limit}");
            notes.push(Finding::new(&file.path, problem));
        }
        for function in find_functions(&split_source(&file.text).code) {
            if function.lines > FUNCTION_LINES {
                let problem = format!("fn {} has {} lines", function.name, function.lines);
                notes.push(Finding::on_line(&file.path, function.line, problem));
            }
        }
    }
    notes
}
