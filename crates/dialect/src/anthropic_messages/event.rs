//! The events of this wire, borrowed from the stream. Only fields in use are named; the parser
//! skips all others.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lenient_json::{TextFragment, TokenCount, optional};

#[derive(Deserialize)]
pub(super) struct AnthropicEventHead<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Cow<'a, str>,
}

#[derive(Deserialize)]
pub(super) struct AnthropicMessageStart<'a> {
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) message: Option<AnthropicMessageHead<'a>>,
}

#[derive(Default, Deserialize)]
pub(super) struct AnthropicMessageHead<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) model: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "optional")]
    pub(super) usage: Option<AnthropicUsage>,
}

#[derive(Deserialize)]
pub(super) struct AnthropicBlockStart<'a> {
    pub(super) index: u64,
    #[serde(borrow)]
    pub(super) content_block: &'a RawValue,
}

#[derive(Deserialize)]
pub(super) struct AnthropicBlockDelta<'a> {
    pub(super) index: u64,
    #[serde(borrow)]
    pub(super) delta: &'a RawValue,
}

#[derive(Default, Deserialize)]
pub(super) struct AnthropicDelta<'a> {
    #[serde(borrow)]
    pub(super) text: Option<TextFragment<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<TextFragment<'a>>,
    #[serde(borrow)]
    pub(super) partial_json: Option<TextFragment<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
pub(super) struct AnthropicBlockStop {
    pub(super) index: u64,
}

#[derive(Deserialize)]
pub(super) struct AnthropicMessageDelta<'a> {
    #[serde(borrow)]
    pub(super) delta: Option<AnthropicMessageChange<'a>>,
    #[serde(default, deserialize_with = "optional")]
    pub(super) usage: Option<AnthropicUsage>,
    #[serde(default, deserialize_with = "optional")]
    pub(super) context_management: Option<AnthropicContextManagement>,
}

/// What the provider took out of the input on its side.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct AnthropicContextManagement {
    pub(super) applied_edits: Vec<AnthropicAppliedEdit>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct AnthropicAppliedEdit {
    pub(super) cleared_tool_uses: TokenCount,
    pub(super) cleared_input_tokens: TokenCount,
}

#[derive(Default, Deserialize)]
pub(super) struct AnthropicMessageChange<'a> {
    #[serde(borrow)]
    pub(super) stop_reason: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) stop_details: Option<AnthropicStopDetails<'a>>,
}

#[derive(Deserialize)]
pub(super) struct AnthropicStopDetails<'a> {
    #[serde(borrow)]
    pub(super) category: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) explanation: Option<Cow<'a, str>>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct AnthropicUsage {
    pub(super) input_tokens: TokenCount,
    pub(super) output_tokens: TokenCount,
    pub(super) cache_creation_input_tokens: TokenCount,
    pub(super) cache_read_input_tokens: TokenCount,
}
