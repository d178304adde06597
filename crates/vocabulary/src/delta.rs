//! The pieces of a streaming answer, in one form for every wire.

use alloc::string::String;
use serde::{Deserialize, Serialize};

use crate::content::ContentBlock;
use crate::id::ToolCallId;
use crate::json::Json;
use crate::tool::{ToolCall, ToolInspection, ToolName};
use crate::usage::{Tokens, Usage};

/// One piece of a streaming answer. Pieces of text are for display; a block counts only when its
/// [`Delta::Block`] or [`Delta::Call`] has arrived completely.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Delta {
    /// A piece of the answer's text.
    Text(String),
    /// A piece of reasoning.
    Thinking(String),
    /// A tool call has begun; only its name is known.
    CallStarted {
        /// The provider's id of the call.
        id: ToolCallId,
        /// The tool that is being called.
        name: ToolName,
    },
    /// A piece of the arguments of the last call.
    CallInput(String),
    /// A block other than a tool call is complete, in the form in which it must be sent back.
    Block(ContentBlock),
    /// A tool call is complete. The registry has inspected it.
    Call {
        /// The call with its whole input.
        call: ToolCall,
        /// The registry's inspection.
        inspection: ToolInspection,
    },
    /// Usage so far; cumulative.
    Usage(Usage),
    /// The provider removed old tool results from the input.
    Cleared {
        /// How many results were removed.
        results: u64,
        /// The input tokens saved.
        tokens: Tokens,
    },
    /// An unchanged wire event for clients that want it; has no effect.
    Raw(Json),
}

/// Why a model stopped, in one form for every wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelStopReason {
    /// It is done. The blocks tell whether it called tools.
    EndTurn,
    /// The output limit was reached.
    OutputLimit,
    /// Input and answer together reached the limit of the model.
    WindowFull,
    /// It wants to be continued.
    Pause,
    /// It refuses.
    Refusal,
}
