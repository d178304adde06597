//! One entry of the transcript.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::content::{ContentBlock, ToolResult};
use crate::id::MessageId;
use crate::model::ModelName;
use crate::tool::ToolCall;

/// Who speaks on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Role {
    /// The user's side: prompts, tool results, attachments.
    User,
    /// The model's side.
    Assistant,
}

/// Where a message comes from. Decides what may drop it, move it, or show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum MessageOrigin {
    /// Typed by a person or sent by a client.
    User,
    /// Written by a model.
    Model,
    /// Results of the tool calls of the answer before it.
    ToolResults,
    /// Said by the loop to the model; hidden from people.
    Meta(MetaKind),
    /// Said by a user's hook.
    Hook,
    /// Slipped in beside the conversation.
    Attachment(AttachmentKind),
    /// Replaces everything before it.
    Summary,
    /// For people only; never sent.
    Display,
}

/// Why the loop speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum MetaKind {
    /// The hidden first message with the user's context.
    Context,
    /// Go on exactly where the answer was cut.
    Resume,
    /// There is token budget left.
    Nudge,
    /// The run was interrupted.
    Interruption,
    /// You are going in circles.
    Circle,
}

/// What was slipped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AttachmentKind {
    /// Input typed while the run was going on.
    QueuedInput,
    /// Files that changed behind the model's back.
    ChangedFiles,
    /// Memories found beside the call.
    Memory,
    /// Skills found beside the call.
    Skills,
    /// Files the model was working with, read again because a compaction dropped what it saw.
    FilesInHand,
    /// What hooks say at the start of a session or beside a prompt.
    Hook,
}

/// One entry of the transcript. Never altered once it is in.
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
    /// The model that wrote it; reasoning is bound to it.
    pub model: Option<ModelName>,
    /// Survives every context level verbatim.
    pub pinned: bool,
}

impl Message {
    /// A message from the user's side that is one piece of text.
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

    /// All text blocks joined, which is what a person would call "the answer".
    #[must_use]
    pub fn text(&self) -> String {
        let mut joined = String::new();
        for block in &self.content {
            if let ContentBlock::Text(text) = block {
                joined.push_str(text);
            }
        }
        joined
    }
}
