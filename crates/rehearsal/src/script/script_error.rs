//! A mistake in a script, with its position and a suggestion.

use windlass_config_text::TomlMistake;

/// The first mistake in a script, as one line: `line 3, column 1: what is wrong; a suggestion`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {problem}; {remedy}")]
pub struct ScriptError {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    pub problem: String,
    pub remedy: String,
}

pub(super) fn locate_mistake(mistake: &TomlMistake, text: &str) -> ScriptError {
    let position = mistake.position_in(text);
    let TomlMistake { problem, remedy, .. } = mistake.clone();
    ScriptError { line: position.line, column: position.column, problem, remedy }
}
