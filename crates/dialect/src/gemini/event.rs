//! The fragments of this wire, borrowed from the stream.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lenient_json::{TextFragment, TokenCount, optional};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiChunk<'a> {
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) candidates: Option<Vec<GeminiCandidate<'a>>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) prompt_feedback: Option<GeminiPromptFeedback<'a>>,
    #[serde(default, deserialize_with = "optional")]
    pub(super) usage_metadata: Option<GeminiUsage>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) response_id: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) model_version: Option<Cow<'a, str>>,
}

impl GeminiChunk<'_> {
    pub(super) fn has_error(&self) -> bool {
        self.error.is_some_and(|error| error.get() != "null")
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiCandidate<'a> {
    #[serde(default, deserialize_with = "optional")]
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) content: Option<GeminiContent<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) finish_message: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
pub(super) struct GeminiContent<'a> {
    #[serde(borrow)]
    pub(super) parts: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiPart<'a> {
    #[serde(borrow)]
    pub(super) text: Option<TextFragment<'a>>,
    #[serde(default)]
    pub(super) thought: Option<bool>,
    #[serde(borrow)]
    pub(super) thought_signature: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) function_call: Option<GeminiFunctionCall<'a>>,
}

#[derive(Deserialize)]
pub(super) struct GeminiFunctionCall<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiPromptFeedback<'a> {
    #[serde(borrow)]
    pub(super) block_reason: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) block_reason_message: Option<Cow<'a, str>>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct GeminiUsage {
    pub(super) prompt_token_count: TokenCount,
    pub(super) cached_content_token_count: TokenCount,
    pub(super) candidates_token_count: TokenCount,
    pub(super) thoughts_token_count: TokenCount,
    pub(super) tool_use_prompt_token_count: TokenCount,
}
