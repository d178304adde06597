//! Frames of the conversation itself.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use windlass_vocabulary::{
    ContentBlock, MediaContent, ToolCall, ToolResult, ToolResultPart, Usage,
};

/// One finished block of an answer. Frames of one answer share the message's id.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Assistant")]
pub(crate) struct AssistantFrame {
    /// The message, with this block alone.
    pub message: AssistantMessage,
    /// The call that started the session this belongs to.
    pub parent_tool_use_id: Option<String>,
    /// The error, if this replaces an answer that was not received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'static str>,
}

/// A message of the model's.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AssistantMessage {
    /// The answer it belongs to.
    pub id: String,
    /// Always `message`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Always `assistant`.
    pub role: &'static str,
    /// Who wrote it.
    pub model: String,
    /// The block.
    pub content: Vec<FrameContent>,
    /// Not known of a block.
    pub stop_reason: Option<String>,
    /// Not known of a block.
    pub stop_sequence: Option<String>,
    /// What the answer used, as far as it is known.
    pub usage: FrameUsage,
}

/// What was said to the model.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "User")]
pub(crate) struct UserFrame {
    /// The message.
    pub message: UserMessage,
    /// The call that started the session this belongs to.
    pub parent_tool_use_id: Option<String>,
    /// The structured output of the tool whose result this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_result: Option<Value>,
    /// It is a prompt, said again for those who asked for that.
    #[serde(rename = "isReplay", skip_serializing_if = "std::ops::Not::not")]
    pub is_replay: bool,
}

/// A message with the user's role.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct UserMessage {
    /// Always `user`.
    pub role: &'static str,
    /// A text or blocks.
    pub content: Value,
}

/// One block.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "Content")]
pub(crate) enum FrameContent {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// Reasoning.
    Thinking {
        /// What was thought.
        thinking: String,
        /// The provider's signature; empty if there is none.
        signature: String,
    },
    /// A tool call.
    ToolUse {
        /// Its id.
        id: String,
        /// The tool.
        name: String,
        /// Its arguments.
        input: Value,
    },
    /// Anything only its provider understands, verbatim.
    #[serde(untagged)]
    Other(Value),
}

/// Tokens, in the words of the messages wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FrameUsage {
    /// Fresh input.
    pub input_tokens: u64,
    /// Input written to the cache.
    pub cache_creation_input_tokens: u64,
    /// Input read from the cache.
    pub cache_read_input_tokens: u64,
    /// Output.
    pub output_tokens: u64,
}

impl From<Usage> for FrameUsage {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input.0,
            cache_creation_input_tokens: usage.cache_write.0,
            cache_read_input_tokens: usage.cache_read.0,
            output_tokens: usage.output.0,
        }
    }
}

impl FrameContent {
    /// A block of an answer.
    pub(crate) fn from_block(block: &ContentBlock) -> Option<Self> {
        Some(match block {
            ContentBlock::Text(text) => Self::Text { text: text.clone() },
            ContentBlock::Thinking(thinking) => Self::Thinking {
                thinking: thinking.text.clone(),
                signature: thinking.signature.as_deref().unwrap_or_default().to_owned(),
            },
            ContentBlock::ToolUse(call) => Self::from_tool_call(call),
            ContentBlock::Provider(block) => {
                Self::Other(serde_json::from_str(block.json.as_str()).ok()?)
            }
            ContentBlock::Media(media) => Self::Other(media_to_json(media)),
            ContentBlock::ToolResult(result) => Self::Other(tool_result_to_json(result)),
        })
    }

    /// A tool call. Arguments that are not valid JSON are shown as text.
    pub(crate) fn from_tool_call(call: &ToolCall) -> Self {
        Self::ToolUse {
            id: call.id.as_str().to_owned(),
            name: call.name.as_str().to_owned(),
            input: tool_input_to_json(call),
        }
    }
}

/// The arguments of a call.
pub(crate) fn tool_input_to_json(call: &ToolCall) -> Value {
    let text = call.input.as_str();
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

/// A result, as the model sees it.
pub(crate) fn tool_result_to_json(result: &ToolResult) -> Value {
    let content = match result.content.as_slice() {
        [ToolResultPart::Text(text)] => Value::from(text.as_str()),
        parts => parts.iter().map(result_part_to_json).collect(),
    };
    json!({
        "type": "tool_result",
        "tool_use_id": result.call.as_str(),
        "content": content,
        "is_error": result.is_error,
    })
}

fn result_part_to_json(part: &ToolResultPart) -> Value {
    match part {
        ToolResultPart::Text(text) => json!({ "type": "text", "text": text }),
        ToolResultPart::Media(media) => media_to_json(media),
    }
}

fn media_to_json(media: &MediaContent) -> Value {
    let kind = if media.media_type.starts_with("image/") { "image" } else { "document" };
    let source =
        json!({ "type": "base64", "media_type": &*media.media_type, "data": &*media.data });
    json!({ "type": kind, "source": source })
}
