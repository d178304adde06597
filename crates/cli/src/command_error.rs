//! Why the command goes no further: one line with the cause and what to do, and an exit code.
//!
//! Everything that can go wrong before a run begins ends up here, so that nobody ever sees a
//! backtrace or a page of usage for a slip of the finger. A run that fails is not a refusal.

use std::fmt;

use crate::exit::Exit;
use crate::front::strip_control_characters;

/// One line and a code.
#[derive(Debug)]
pub(crate) struct CommandError {
    /// What the process exits with.
    pub(crate) exit: Exit,
    /// It is a key that is missing; where somebody can be asked, something else is offered.
    pub(crate) is_missing_key: bool,
    message: String,
}

impl CommandError {
    /// The command line or the prompt is wrong.
    pub(crate) fn usage(line: impl Into<String>) -> Self {
        Self::new(Exit::USAGE, line)
    }

    /// Something outside is wrong: the environment, the network, the disk.
    pub(crate) fn failure(line: impl Into<String>) -> Self {
        Self::new(Exit::FAILURE, line)
    }

    /// With a code of its own.
    pub(crate) fn new(exit: Exit, line: impl Into<String>) -> Self {
        Self { exit, is_missing_key: false, message: line.into() }
    }

    /// A key is missing.
    pub(crate) fn with_missing_key(self) -> Self {
        Self { is_missing_key: true, ..self }
    }

    /// What it says, for whoever says it elsewhere.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Nothing was asked at all: a few kind lines instead of one.
    pub(crate) fn welcome() -> Self {
        Self::usage("")
    }

    /// Puts what clap found wrong into one line: the cause, then its advice.
    pub(crate) fn from_clap(error: &clap::Error) -> Self {
        let text = error.to_string();
        let words: Vec<&str> = text
            .lines()
            .map(str::trim)
            .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
            .filter(|line| !line.is_empty())
            .map(|line| line.trim_start_matches("error: ").trim_start_matches("tip: "))
            .collect();
        Self::usage(format!("{}; see windlass --help", words.join("; ")))
    }
}

/// One line, whatever was quoted in it; the welcome alone has more.
impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message.as_str() {
            "" => f.write_str(include_str!("text/welcome.txt").trim_ascii_end()),
            line => write!(f, "windlass: {}", to_single_line(line)),
        }
    }
}

/// The text in one line, safe for a terminal.
pub(crate) fn to_single_line(text: &str) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    strip_control_characters(&joined).into_owned()
}
