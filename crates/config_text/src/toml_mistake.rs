//! A mistake in a TOML file: its position, what is wrong, and how to correct it.

use std::fmt;

use crate::similar_name::find_similar_name;
use crate::text_position::TextPosition;

/// A mistake at a byte offset of the file; its line is computed later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TomlMistake {
    offset: usize,
    pub problem: String,
    pub remedy: String,
}

impl TomlMistake {
    pub fn new(offset: usize, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { offset, problem: problem.into(), remedy: remedy.into() }
    }

    pub fn from_syntax_error(error: &toml::de::Error) -> Self {
        let lines = error.message().split('\n').map(str::trim).filter(|line| !line.is_empty());
        let problem = format!("not TOML: {}", lines.collect::<Vec<_>>().join(", "));
        Self::new(error.span().map_or(0, |span| span.start), problem, "fix the line")
    }

    pub(crate) fn unknown_key(offset: usize, label: &str, key: &str, known: &[&str]) -> Self {
        let remedy = match find_similar_name(key, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("known keys are {}", known.join(", ")),
        };
        Self::new(offset, format!("unknown key `{}` in {label}", key.escape_debug()), remedy)
    }

    pub(crate) fn unknown_keyword(offset: usize, key: &str, word: &str, known: &[&str]) -> Self {
        let remedy = match find_similar_name(word, known.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("known words are {}", known.join(", ")),
        };
        Self::new(offset, format!("`{key}` cannot be \"{}\"", word.escape_debug()), remedy)
    }

    pub fn position_in(&self, text: &str) -> TextPosition {
        TextPosition::from_offset(text, self.offset)
    }
}

impl fmt::Display for TomlMistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.problem, self.remedy)
    }
}
