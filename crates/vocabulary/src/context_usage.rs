//! The content of the context window by component, and what the context levels freed.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::id::MessageId;
use crate::model::ModelName;
use crate::usage::Tokens;

/// What a request would contain if it was sent now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextUsage {
    /// The model it would be sent to.
    pub model: ModelName,
    /// Tokens of input and output together.
    pub window: Tokens,
    /// The part of the window reserved for the answer.
    pub reserved: Tokens,
    /// Above this size a summary is requested.
    pub threshold: Tokens,
    /// The estimated size of the whole input.
    pub total: Tokens,
    /// Its components, in the order of [`ContextComponent`].
    pub parts: Vec<ContextUsagePart>,
    /// What each of the five levels freed since the session began.
    pub levels: [FreedTokens; 5],
    /// What was dropped, oldest first.
    pub losses: Vec<ContextLoss>,
}

/// One component of the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextUsagePart {
    /// What these tokens are spent on.
    pub component: ContextComponent,
    /// The estimated size.
    pub tokens: Tokens,
    /// The number of its tools, results or messages.
    pub count: usize,
}

/// The components of the input.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextComponent {
    /// The system prompt.
    System,
    /// The offered tools.
    Tools,
    /// The user's context, memories and skills.
    Memory,
    /// Pinned messages.
    Pins,
    /// Summaries of what was compacted.
    Summaries,
    /// Prompts and other user messages.
    Requests,
    /// The model's messages, calls included.
    Answers,
    /// Reasoning that is sent back to the model.
    Reasoning,
    /// Results of this tool.
    Results(String),
}

/// What one level freed in total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreedTokens {
    /// How often it freed something.
    pub times: u64,
    /// The estimated total freed.
    pub tokens: Tokens,
}

/// What one level freed once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextLoss {
    /// The level, 1 to 5.
    pub level: u8,
    /// The estimated size freed.
    pub freed: Tokens,
    /// Describes what was dropped.
    pub what: Vec<String>,
    /// The newest message at that time.
    pub at: MessageId,
}

impl ContextUsage {
    /// The window minus the input and the part reserved for the answer.
    #[must_use]
    pub fn free_tokens(&self) -> Tokens {
        self.window.less(self.reserved).less(self.total)
    }
}
