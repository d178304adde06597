//! What arrives while a model answers, in one form for every wire.

use alloc::string::String;
use serde::{Deserialize, Serialize};

use crate::content::ContentBlock;
use crate::id::ToolCallId;
use crate::json::Json;
use crate::tool::{ToolCall, ToolInspection, ToolName};
use crate::usage::{Tokens, Usage};

/// One piece of a streaming answer. Pieces of text are for showing; a block counts only when its
/// [`Delta::Block`] or [`Delta::Call`] has arrived whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Delta {
    /// A piece of the answer's text.
    Text(String),
    /// A piece of reasoning.
    Thinking(String),
    /// A tool call has begun; nothing is known yet but its name.
    CallStarted {
        /// The provider's id of the call.
        id: ToolCallId,
        /// The tool that is being called.
        name: ToolName,
    },
    /// A piece of the arguments of the call that began last.
    CallInput(String),
    /// A block that is not a tool call is complete, as it must be sent back.
    Block(ContentBlock),
    /// A tool call is complete. The driver has had the registry look at it.
    Call {
        /// The call with its whole input.
        call: ToolCall,
        /// What the registry says of it.
        inspection: ToolInspection,
    },
    /// Usage so far; cumulative.
    Usage(Usage),
    /// The provider took old tool results out of the input on its side.
    Cleared {
        /// How many results were taken out.
        results: u64,
        /// Input that saved.
        tokens: Tokens,
    },
    /// One raw wire event for clients that want them; changes nothing.
    Raw(Json),
}

/// Why a model stopped, in one form for every wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelStopReason {
    /// It is done. Whether it asked for tools is read off the blocks.
    EndTurn,
    /// The output limit cut it.
    OutputLimit,
    /// The window is full.
    WindowFull,
    /// It wants to be asked to go on.
    Pause,
    /// It refuses.
    Refusal,
}
