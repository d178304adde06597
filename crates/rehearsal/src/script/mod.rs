//! The script: which answers there are, in which order, and under which conditions.
//!
//! The same value is read from TOML ([`Script::parse`]) or built in Rust. Choosing an answer for a
//! request happens in `server::script_player`; encoding it for a provider happens in `wire`.

mod answer;
mod fault_parser;
mod script_error;
mod script_parser;

use std::time::Duration;

pub use answer::{ScriptedAnswer, StopReason};
pub use script_error::ScriptError;

pub(crate) use answer::{AnswerContent, ScriptedToolCall};

/// What the server will say, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    pub(crate) model: Option<String>,
    pub(crate) lenient: bool,
    pub(crate) answers: Vec<ScriptedAnswer>,
}

impl Script {
    /// A script without answers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads a script from TOML.
    ///
    /// # Errors
    ///
    /// The first mistake, with its line and column, what is wrong and what would be right.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        script_parser::parse_script(text)
    }

    /// Adds an answer after those already there.
    #[must_use]
    pub fn answer(mut self, answer: ScriptedAnswer) -> Self {
        self.answers.push(answer);
        self
    }

    /// The model's name in every answer. Without it the server repeats the name it was asked for.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Answers requests that a real provider would refuse because their history breaks its rules
    /// (for example a tool call without a result). Without this they are refused here too.
    #[must_use]
    pub fn lenient(mut self) -> Self {
        self.lenient = true;
        self
    }

    /// Overrides the pause between events in every answer.
    #[must_use]
    pub fn pace(mut self, pause: Duration) -> Self {
        for answer in &mut self.answers {
            answer.pace = pause;
        }
        self
    }

    /// Puts `value` wherever the script says `{{name}}`: in texts, conditions and tool inputs.
    #[must_use]
    pub fn fill(mut self, name: &str, value: &str) -> Self {
        let mark = format!("{{{{{name}}}}}");
        for answer in &mut self.answers {
            answer.fill_placeholder(&mark, value);
        }
        self
    }

    /// The answers, in order.
    #[must_use]
    pub fn answers(&self) -> &[ScriptedAnswer] {
        &self.answers
    }
}

impl FromIterator<ScriptedAnswer> for Script {
    fn from_iter<T: IntoIterator<Item = ScriptedAnswer>>(answers: T) -> Self {
        Self { answers: answers.into_iter().collect(), ..Self::default() }
    }
}
