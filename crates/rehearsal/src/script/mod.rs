//! The script: its answers, their order and conditions.
//!
//! Parsed from TOML ([`Script::parse`]) or built in Rust. `server::script_player` selects the
//! answer to a request; `wire` encodes it for a provider.

mod answer;
mod fault_parser;
mod script_error;
mod script_parser;

use std::time::Duration;

pub use answer::{ScriptedAnswer, StopReason};
pub use script_error::ScriptError;

pub(crate) use answer::{AnswerContent, ScriptedToolCall};

/// The answers of the server, in order.
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

    /// Parses a script from TOML.
    ///
    /// # Errors
    ///
    /// The first mistake, with its line and column, and a suggestion.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        script_parser::parse_script(text)
    }

    /// Appends an answer.
    #[must_use]
    pub fn answer(mut self, answer: ScriptedAnswer) -> Self {
        self.answers.push(answer);
        self
    }

    /// Sets the model's name in every answer. The default is the requested name.
    #[must_use]
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Accepts requests that a real provider would reject because their history is invalid (for
    /// example a tool call without a result). By default they are rejected here too.
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

    /// Replaces `{{name}}` by `value` everywhere in the script: in texts, conditions and tool
    /// inputs.
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
