//! The content of messages.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::id::ToolCallId;
use crate::json::Json;
use crate::model::WireFormat;
use crate::tool::ToolCall;

/// One block of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContentBlock {
    /// Plain text.
    Text(String),
    /// Reasoning, which may be sent back only to the model that wrote it, unchanged.
    Thinking(ThinkingBlock),
    /// A tool call of the model.
    ToolUse(ToolCall),
    /// The result of a tool call.
    ToolResult(ToolResult),
    /// An image or a document.
    Media(MediaContent),
    /// A block that only its own provider understands, kept unchanged.
    Provider(ProviderBlock),
}

/// Reasoning text with the provider's signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThinkingBlock {
    /// May be empty: some models send only the signature.
    pub text: String,
    /// Valid only for the model that wrote it.
    pub signature: Option<Arc<str>>,
}

/// The result of one tool call, as sent to the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call this answers.
    pub call: ToolCallId,
    /// Text and media, in order.
    pub content: Vec<ToolResultPart>,
    /// A failure is content for the model, with this mark.
    pub is_error: bool,
}

/// One part of a tool's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToolResultPart {
    /// Shown to the model as it is.
    Text(String),
    /// An image or a document.
    Media(MediaContent),
}

/// An image or a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaContent {
    /// For example `image/png`.
    pub media_type: Arc<str>,
    /// Base64.
    pub data: Arc<str>,
    /// Its name in the note if it must be left out.
    pub name: Arc<str>,
}

/// A block that only its own provider understands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderBlock {
    /// The wire it came over.
    pub wire: WireFormat,
    /// The provider's own type name.
    pub kind: Arc<str>,
    /// It contains only reasoning, which alone is not an answer.
    #[serde(default)]
    pub is_reasoning: bool,
    /// The block, unchanged.
    pub json: Json,
}

impl ToolResult {
    /// A result that is a single text.
    #[must_use]
    pub fn from_text(call: ToolCallId, text: impl Into<String>, is_error: bool) -> Self {
        Self { call, content: alloc::vec![ToolResultPart::Text(text.into())], is_error }
    }

    /// Bytes of text and media, on which all budgets are based.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.content.iter().map(ToolResultPart::bytes).sum()
    }
}

impl ContentBlock {
    /// The text of a text block, and nothing of any other.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Thinking(_)
            | Self::ToolUse(_)
            | Self::ToolResult(_)
            | Self::Media(_)
            | Self::Provider(_) => None,
        }
    }
}

impl ToolResultPart {
    /// The text of a text part; media has none.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Media(_) => None,
        }
    }

    /// The texts of all parts, with a line feed between two; it begins with the first that is not
    /// empty.
    #[must_use]
    pub fn join_texts(parts: &[Self]) -> String {
        let texts = parts.iter().filter_map(Self::as_text).skip_while(|text| text.is_empty());
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Bytes of this part.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Media(media) => media.data.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_joined_from_the_first_that_is_not_empty() {
        let text = |text: &str| ToolResultPart::Text(text.into());
        let media =
            MediaContent { media_type: "image/png".into(), data: "".into(), name: "".into() };
        let parts = [text(""), ToolResultPart::Media(media), text("a"), text(""), text("b")];
        assert_eq!(ToolResultPart::join_texts(&parts), "a\n\nb");
        assert_eq!(ToolResultPart::join_texts(&parts[..2]), "");
    }
}
