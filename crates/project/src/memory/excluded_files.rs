//! Memory files that the settings exclude, by globs over their absolute paths.

use std::path::Path;

use globset::{Glob, GlobSet, GlobSetBuilder};

#[derive(Clone, Debug)]
pub(super) struct ExcludedFiles {
    globs: GlobSet,
}

impl Default for ExcludedFiles {
    fn default() -> Self {
        Self { globs: GlobSet::empty() }
    }
}

impl ExcludedFiles {
    /// Parses the patterns; invalid ones are skipped and reported.
    pub(super) fn new(patterns: &[String]) -> (Self, Vec<String>) {
        let mut globs = GlobSetBuilder::new();
        let mut problems = Vec::new();
        for pattern in patterns {
            match Glob::new(pattern) {
                Ok(glob) => drop(globs.add(glob)),
                Err(error) => problems.push(format!("claudeMdExcludes: {error}")),
            }
        }
        let globs = globs.build().unwrap_or_else(|error| {
            problems.push(format!("claudeMdExcludes: {error}"));
            GlobSet::empty()
        });
        (Self { globs }, problems)
    }

    /// Is this file excluded, by its path as written or resolved?
    pub(super) fn contains(&self, path: &Path, real: &Path) -> bool {
        self.globs.is_match(path) || self.globs.is_match(real)
    }
}
