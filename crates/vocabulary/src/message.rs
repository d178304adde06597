//! One entry of the transcript.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::content::{ContentBlock, ToolResult};
use crate::id::MessageId;
use crate::model::ModelName;
use crate::tool::ToolCall;

/// The role on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Role {
    /// The user: prompts, tool results, attachments.
    User,
    /// The model.
    Assistant,
}

/// The origin of a message. Determines what may drop, move or show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum MessageOrigin {
    /// Typed by the user or sent by a client.
    User,
    /// Written by a model.
    Model,
    /// Results of the tool calls of the answer before it.
    ToolResults,
    /// From the loop to the model; hidden from the user.
    Meta(MetaKind),
    /// From a user's hook.
    Hook,
    /// Added automatically.
    Attachment(AttachmentKind),
    /// Replaces everything before it.
    Summary,
    /// For the user only; never sent.
    Display,
}

/// Why the loop sends a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum MetaKind {
    /// The hidden first message with the user's context.
    Context,
    /// Continue exactly where the answer was cut off.
    Resume,
    /// There is token budget left.
    Nudge,
    /// The run was interrupted.
    Interruption,
    /// You are repeating yourself.
    Circle,
}

/// What was added automatically.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AttachmentKind {
    /// Input submitted during the run.
    QueuedInput,
    /// Files that others changed.
    ChangedFiles,
    /// Memories found during the model call.
    Memory,
    /// Skills found during the model call.
    Skills,
    /// Files the model was working with, read again because a compaction dropped their content.
    FilesInHand,
    /// Output of hooks at the start of a session or with a prompt.
    Hook,
}

/// One entry of the transcript. Never changed once it is added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Position in the transcript.
    pub id: MessageId,
    /// Side of the conversation.
    pub role: Role,
    /// Where it comes from.
    pub origin: MessageOrigin,
    /// What it says.
    pub content: Vec<ContentBlock>,
    /// The model that wrote it; reasoning is valid only for this model.
    pub model: Option<ModelName>,
    /// Context reduction never changes it.
    pub pinned: bool,
}

impl Message {
    /// A user message that is a single text.
    #[must_use]
    pub fn user_text(id: MessageId, origin: MessageOrigin, text: impl Into<String>) -> Self {
        Self {
            id,
            role: Role::User,
            origin,
            content: alloc::vec![ContentBlock::Text(text.into())],
            model: None,
            pinned: false,
        }
    }

    /// The tool calls in this message, in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            ContentBlock::ToolUse(call) => Some(call),
            ContentBlock::Text(_)
            | ContentBlock::Thinking(_)
            | ContentBlock::ToolResult(_)
            | ContentBlock::Media(_)
            | ContentBlock::Provider(_) => None,
        })
    }

    /// The tool results in this message, in order.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.content.iter().filter_map(|block| match block {
            ContentBlock::ToolResult(result) => Some(result),
            ContentBlock::Text(_)
            | ContentBlock::Thinking(_)
            | ContentBlock::ToolUse(_)
            | ContentBlock::Media(_)
            | ContentBlock::Provider(_) => None,
        })
    }

    /// All text blocks joined: the answer as a user would see it.
    #[must_use]
    pub fn text(&self) -> String {
        self.content.iter().filter_map(ContentBlock::as_text).collect()
    }
}
