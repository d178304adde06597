//! A prompt as a caller submits it, with options for its run, and queued prompts.

use windlass_permission::Rule;
use windlass_vocabulary::{ContentBlock, ModelName};

/// A prompt for a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptSubmission {
    /// Text and media, in order.
    pub content: Vec<ContentBlock>,
    /// Context reduction never shortens it.
    pub pinned: bool,
    /// Its name in the transcript: a UUID chosen by the caller. One is generated if it is `None`.
    pub name: Option<String>,
    /// Allow rules for this run only.
    pub allow: Vec<Rule>,
    /// The model for this run only. Ignored if the session does not know it.
    pub model: Option<ModelName>,
    /// The command or skill that the text was expanded from. A skill's hooks become active.
    pub slash_command: Option<SlashCommandCall>,
}

/// The custom command or skill that the user called, and whose text the message contains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlashCommandCall {
    /// Its name, without the slash.
    pub name: String,
    /// The text after the name.
    pub arguments: String,
    /// Where it is defined: `user` or `project`.
    pub source: &'static str,
}

/// A message queued for the next tool boundary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedMessage {
    /// Its position in the queue, counted from 0.
    pub index: usize,
    /// The name given by the caller.
    pub name: Option<String>,
    /// What the model will read.
    pub content: Vec<ContentBlock>,
    /// Context reduction never shortens it.
    pub pinned: bool,
}

impl PromptSubmission {
    /// Sets its name in the transcript.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Excludes it from context reduction.
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
