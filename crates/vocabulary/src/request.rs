//! One request to one model, in one form for every wire. The engine makes it, a dialect encodes it.

use alloc::sync::Arc;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::id::{AgentId, AttemptId};
use crate::messages::Messages;
use crate::model::{Effort, ModelName, ThinkingMode};
use crate::tool::ToolSpec;
use crate::usage::Tokens;

/// What one attempt asks of one model, in one form for every wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelRequest {
    /// Which attempt this is; every event that answers it carries the same id.
    pub attempt: AttemptId,
    /// The model asked.
    pub model: ModelName,
    /// The system prompt, in pieces that change rarely to often.
    pub system: Vec<Arc<str>>,
    /// Tools on offer, in stable order.
    pub tools: Arc<[ToolSpec]>,
    /// The projection of the transcript.
    pub messages: Messages,
    /// The most output asked for.
    pub output_max: Tokens,
    /// Whether and how long the model may reason.
    pub thinking: ThinkingMode,
    /// Effort; the provider's own default when nothing was asked for.
    pub effort: Option<Effort>,
    /// Who asks, for the ledger and for attribution.
    pub source: RequestSource,
    /// Which agent asks.
    pub agent: AgentId,
    /// Old tool results that the provider is asked to take out on its side.
    pub clear_results: Option<ToolResultClearing>,
    /// The provider refused reasoning before: it is neither sent back nor asked for.
    pub without_reasoning: bool,
}

/// When a provider takes old tool results out on its side, and how many it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolResultClearing {
    /// Input over this.
    pub trigger_tokens: Tokens,
    /// The latest results that stay.
    pub keep_latest: u32,
    /// Less than this is not worth a break of the cached prefix.
    pub clear_at_least: Tokens,
}

/// Why a request is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestSource {
    /// The loop itself.
    Main,
    /// A summary that replaces history.
    Compaction,
    /// A short label for a batch of tools.
    ToolLabel,
    /// A question that a tool asks beside the conversation.
    Aside,
    /// Work beside the runs.
    #[serde(untagged)]
    Chore(Chore),
}

impl RequestSource {
    /// All sources, with one for each kind of chore.
    pub fn all() -> impl Iterator<Item = Self> {
        let own = [Self::Main, Self::Compaction, Self::ToolLabel, Self::Aside];
        own.into_iter().chain(Chore::ALL.iter().copied().map(Self::Chore))
    }

    /// Its name, as it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Compaction => "compaction",
            Self::ToolLabel => "tool_label",
            Self::Aside => "aside",
            Self::Chore(chore) => chore.name(),
        }
    }
}

/// Work for a model when a run is over, or beside it: no run waits for any of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Chore {
    /// A name for the session.
    Title,
    /// What the user may want to say next.
    Suggestion,
    /// What is worth knowing in later sessions.
    Memory,
    /// Such notes, made shorter.
    Consolidation,
    /// A question about the conversation that does not become part of it.
    Question,
}

impl Chore {
    /// Every kind of chore.
    pub const ALL: &'static [Self] =
        &[Self::Title, Self::Suggestion, Self::Memory, Self::Consolidation, Self::Question];

    /// Its name, as it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Title => "title",
            Self::Suggestion => "suggestion",
            Self::Memory => "memory",
            Self::Consolidation => "consolidation",
            Self::Question => "question",
        }
    }
}
