//! The fragments of this wire as they stand in the stream, borrowed from it.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::loose::{Count, Fragment, optional};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) candidates: Option<Vec<Candidate<'a>>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) prompt_feedback: Option<Feedback<'a>>,
    #[serde(default, deserialize_with = "optional")]
    pub(super) usage_metadata: Option<WireUsage>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) response_id: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) model_version: Option<Cow<'a, str>>,
}

impl Chunk<'_> {
    pub(super) fn has_error(&self) -> bool {
        self.error.is_some_and(|error| error.get() != "null")
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Candidate<'a> {
    #[serde(default, deserialize_with = "optional")]
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) finish_message: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
pub(super) struct Content<'a> {
    #[serde(borrow)]
    pub(super) parts: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Fragment<'a>>,
    #[serde(default)]
    pub(super) thought: Option<bool>,
    #[serde(borrow)]
    pub(super) thought_signature: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) function_call: Option<FunctionCall<'a>>,
}

#[derive(Deserialize)]
pub(super) struct FunctionCall<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Feedback<'a> {
    #[serde(borrow)]
    pub(super) block_reason: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) block_reason_message: Option<Cow<'a, str>>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct WireUsage {
    pub(super) prompt_token_count: Count,
    pub(super) cached_content_token_count: Count,
    pub(super) candidates_token_count: Count,
    pub(super) thoughts_token_count: Count,
    pub(super) tool_use_prompt_token_count: Count,
}
