//! A mistake in a configuration file: where it is, what is wrong, what would be right.

use std::fmt;
use std::path::Path;

use windlass_host::similar_name::find_similar_name;

/// A mistake at a byte of the file, before anyone has counted lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConfigError {
    offset: usize,
    problem: String,
    remedy: String,
}

impl ConfigError {
    pub(super) fn new(
        offset: usize,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { offset, problem: problem.into(), remedy: remedy.into() }
    }

    pub(super) fn unknown_key(at: usize, place: &str, key: &str, known: &[&str]) -> Self {
        let remedy = match find_similar_name(key, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known keys are {}", known.join(", ")),
        };
        Self::new(at, format!("unknown key `{key}` in {place}"), remedy)
    }

    pub(super) fn unknown_keyword(at: usize, key: &str, word: &str, known: &[&str]) -> Self {
        let remedy = match find_similar_name(word, known.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("known words are {}", known.join(", ")),
        };
        Self::new(at, format!("`{key}` cannot be \"{word}\""), remedy)
    }

    pub(super) fn format_in_file(&self, path: &Path, text: &str) -> String {
        let before = text.get(..self.offset.min(text.len())).unwrap_or(text);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.matches('\n').count() + 1;
        let column = before.get(line_start..).unwrap_or_default().chars().count() + 1;
        format!("{}, line {line}, column {column}: {self}", path.display())
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.problem, self.remedy)
    }
}
