//! What fills the window, by component, and what the context levels did to make room.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::id::MessageId;
use crate::model::ModelName;
use crate::usage::Tokens;

/// What a request would be made of if it went out now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextUsage {
    /// The model it would go to.
    pub model: ModelName,
    /// Tokens of input and output together.
    pub window: Tokens,
    /// What of the window is kept for the answer.
    pub reserved: Tokens,
    /// Over this a summary is asked for.
    pub threshold: Tokens,
    /// Estimate of the whole input.
    pub total: Tokens,
    /// What it is made of, in the order of [`ContextComponent`].
    pub parts: Vec<ContextUsagePart>,
    /// What each of the five levels did since the session began.
    pub levels: [FreedTokens; 5],
    /// What was dropped, oldest first.
    pub losses: Vec<ContextLoss>,
}

/// One component of the input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextUsagePart {
    /// Which.
    pub component: ContextComponent,
    /// Estimate of its size.
    pub tokens: Tokens,
    /// Pieces in it: tools, results, messages.
    pub count: usize,
}

/// What input is made of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextComponent {
    /// The system prompt.
    System,
    /// The tools on offer.
    Tools,
    /// The user's context, memories and skills.
    Memory,
    /// Pinned messages.
    Pins,
    /// Summaries of what was compacted.
    Summaries,
    /// Prompts and other user messages.
    Requests,
    /// What the model wrote, its calls included.
    Answers,
    /// Reasoning that goes back to the model.
    Reasoning,
    /// Results of this tool.
    Results(String),
}

/// What one level did in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FreedTokens {
    /// How often it did something.
    pub times: u64,
    /// Estimate of what that freed.
    pub tokens: Tokens,
}

/// What one level did once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextLoss {
    /// The level, 1 to 5.
    pub level: u8,
    /// Estimate of what that freed.
    pub freed: Tokens,
    /// Describes what was dropped.
    pub what: Vec<String>,
    /// The newest message at that time.
    pub at: MessageId,
}

impl ContextUsage {
    /// What is left of the window beside the input and what is kept for the answer.
    #[must_use]
    pub fn free_tokens(&self) -> Tokens {
        self.window.less(self.reserved).less(self.total)
    }
}
