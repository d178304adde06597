//! Something in a layer that could not be used: where it stands, what is wrong, what comes of it.

use std::fmt;

use windlass_permission::layer::Source;

/// What comes of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing; but whoever wrote it may expect something.
    Idle,
    /// The entry is left out, or a tool asks.
    Entry,
    /// The whole file is left out, and everything asks.
    File,
}

impl Severity {
    /// One word for programs.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Entry => "entry",
            Self::File => "file",
        }
    }
}

/// Line and column, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

impl From<(usize, usize)> for Place {
    fn from((line, column): (usize, usize)) -> Self {
        Self { line, column }
    }
}

/// A problem in a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The layer; none for what belongs to no layer.
    pub source: Option<Source>,
    /// The file, or the flag.
    pub name: String,
    /// Where in it.
    pub place: Option<Place>,
    /// What is wrong, and what happens because of it.
    pub what: String,
    /// What comes of it.
    pub severity: Severity,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(Place { line, column }) = self.place {
            write!(f, ", line {line}, column {column}")?;
        }
        write!(f, ": {}", self.what)
    }
}
