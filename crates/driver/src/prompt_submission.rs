//! What a caller sends to a session: a prompt, perhaps with terms of its own, and prompts that wait.

use windlass_permission::Rule;
use windlass_vocabulary::{ContentBlock, ModelName};

/// A message for a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptSubmission {
    /// Text and media, in order.
    pub content: Vec<ContentBlock>,
    /// It survives every context level word for word.
    pub pinned: bool,
    /// Its name in the transcript: a UUID chosen by the sender. One is generated if there is none.
    pub name: Option<String>,
    /// Rules that allow more, for this run alone.
    pub allow: Vec<Rule>,
    /// The model for this run alone, if the session knows it.
    pub model: Option<ModelName>,
    /// The command or skill this text comes from. A skill of that name is loaded, with its hooks.
    pub slash_command: Option<SlashCommandCall>,
}

/// The custom command or skill that a user called, and whose text the message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlashCommandCall {
    /// Its name, without the slash.
    pub name: String,
    /// What was written behind it.
    pub arguments: String,
    /// Whose it is: `user` or `project`.
    pub source: &'static str,
}

/// A message that waits for the next tool boundary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedMessage {
    /// Its place among those that wait, counted from 0.
    pub index: usize,
    /// What its sender calls it.
    pub name: Option<String>,
    /// What it says.
    pub content: Vec<ContentBlock>,
    /// It survives every context level word for word.
    pub pinned: bool,
}

impl PromptSubmission {
    /// Calls it this in the transcript.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Makes it survive every context level.
    #[must_use]
    pub fn pin(mut self) -> Self {
        self.pinned = true;
        self
    }
}

impl From<Vec<ContentBlock>> for PromptSubmission {
    fn from(content: Vec<ContentBlock>) -> Self {
        Self {
            content,
            pinned: false,
            name: None,
            allow: Vec::new(),
            model: None,
            slash_command: None,
        }
    }
}

impl From<String> for PromptSubmission {
    fn from(text: String) -> Self {
        Self::from(vec![ContentBlock::Text(text)])
    }
}

impl From<&str> for PromptSubmission {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}
