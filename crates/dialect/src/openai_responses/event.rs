//! The events of this wire, borrowed from the stream.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::lenient_json::{TextFragment, TokenCount, optional};

#[derive(Deserialize)]
pub(super) struct ResponsesEventHead<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Cow<'a, str>,
}

/// Any event about a piece of an item.
#[derive(Deserialize)]
pub(super) struct ResponsesDeltaEvent<'a> {
    #[serde(default, deserialize_with = "optional")]
    pub(super) output_index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Option<TextFragment<'a>>,
}

/// An item begins or is done.
#[derive(Deserialize)]
pub(super) struct ResponsesItemEvent<'a> {
    /// Imitations leave it out.
    #[serde(default, deserialize_with = "optional")]
    pub(super) output_index: Option<u64>,
    #[serde(borrow)]
    pub(super) item: &'a RawValue,
}

/// What is used of an item.
#[derive(Deserialize)]
pub(super) struct ResponsesItem<'a> {
    #[serde(rename = "type", borrow)]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) call_id: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) name: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) status: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) arguments: Option<TextFragment<'a>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) content: Option<Vec<ResponsesContentPart<'a>>>,
}

/// A part of a message.
#[derive(Deserialize)]
pub(super) struct ResponsesContentPart<'a> {
    #[serde(borrow, default)]
    pub(super) text: Option<TextFragment<'a>>,
    #[serde(borrow, default)]
    pub(super) refusal: Option<TextFragment<'a>>,
}

#[derive(Deserialize)]
pub(super) struct ResponsesLifecycleEvent<'a> {
    #[serde(borrow)]
    pub(super) response: &'a RawValue,
}

#[derive(Deserialize)]
pub(super) struct ResponsesBody<'a> {
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) model: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) output: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) incomplete_details: Option<ResponsesIncompleteDetails<'a>>,
    #[serde(default, deserialize_with = "optional")]
    pub(super) usage: Option<ResponsesUsage>,
}

#[derive(Deserialize)]
pub(super) struct ResponsesIncompleteDetails<'a> {
    #[serde(borrow)]
    pub(super) reason: Option<Cow<'a, str>>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponsesUsage {
    pub(super) input_tokens: TokenCount,
    pub(super) output_tokens: TokenCount,
    #[serde(deserialize_with = "optional")]
    pub(super) input_tokens_details: Option<ResponsesUsageDetails>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponsesUsageDetails {
    pub(super) cached_tokens: TokenCount,
    pub(super) cache_write_tokens: TokenCount,
}
