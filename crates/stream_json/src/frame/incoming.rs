//! The lines of standard input.
//!
//! Unknown keys are ignored and unknown types are told apart from broken lines: a client may be
//! newer than we are.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// One line of standard input.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum IncomingFrame {
    /// A prompt.
    User(Box<PromptFrame>),
    /// The client asks or tells us something beside the conversation.
    ControlRequest {
        /// Its id; the answer carries it.
        request_id: String,
        /// What it wants.
        request: Value,
    },
    /// The client answers.
    ControlResponse {
        /// The answer.
        response: Value,
    },
    /// The client no longer wants to know.
    /// Requests are answered at once, so there is never one left to call off.
    ControlCancelRequest {},
    /// The client is alive.
    KeepAlive,
    /// Something that means nothing to us.
    #[serde(other)]
    Other,
}

/// A prompt.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "Prompt")]
pub(crate) struct PromptFrame {
    /// What it says.
    pub message: PromptFrameMessage,
    /// Its id.
    #[serde(default)]
    pub uuid: Option<String>,
    /// The sender; repeated in the result.
    #[serde(default)]
    pub origin: Option<Value>,
    /// Taken as it is: no commands in it.
    #[serde(default)]
    pub client_composed: bool,
    /// `now` replaces what is going on, `next` (and nothing) waits for its end, `later` waits for all
    /// others.
    #[serde(default)]
    pub priority: Option<String>,
    /// `false` adds it to the conversation and asks the model nothing.
    #[serde(default, rename = "shouldQuery")]
    pub should_query: Option<bool>,
    /// How long its line was.
    #[serde(skip)]
    pub line_bytes: usize,
    /// Why the line could not be read as a prompt. Its turn ends at once, with this as the error.
    #[serde(skip)]
    pub problem: Option<String>,
}

/// What a prompt says.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "Said")]
pub(crate) struct PromptFrameMessage {
    /// A text, or a list of blocks: text, image, document.
    #[serde(default)]
    pub content: Value,
}
