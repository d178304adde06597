//! The events of this wire as they stand in the stream, borrowed from it.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::loose::{Count, Fragment, optional};

#[derive(Deserialize)]
pub(super) struct Head<'a> {
    #[serde(rename = "type", borrow, default)]
    pub(super) kind: Cow<'a, str>,
}

/// Any event about a piece of an item.
#[derive(Deserialize)]
pub(super) struct PieceEvent<'a> {
    #[serde(default, deserialize_with = "optional")]
    pub(super) output_index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Option<Fragment<'a>>,
}

/// An item begins or is done.
#[derive(Deserialize)]
pub(super) struct ItemEvent<'a> {
    /// Imitations leave it out.
    #[serde(default, deserialize_with = "optional")]
    pub(super) output_index: Option<u64>,
    #[serde(borrow)]
    pub(super) item: &'a RawValue,
}

/// What is used of an item.
#[derive(Deserialize)]
pub(super) struct Item<'a> {
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
    pub(super) arguments: Option<Fragment<'a>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) content: Option<Vec<Part<'a>>>,
}

/// A part of a message.
#[derive(Deserialize)]
pub(super) struct Part<'a> {
    #[serde(borrow, default)]
    pub(super) text: Option<Fragment<'a>>,
    #[serde(borrow, default)]
    pub(super) refusal: Option<Fragment<'a>>,
}

#[derive(Deserialize)]
pub(super) struct ResponseEvent<'a> {
    #[serde(borrow)]
    pub(super) response: &'a RawValue,
}

#[derive(Deserialize)]
pub(super) struct Response<'a> {
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) model: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) output: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) incomplete_details: Option<Incomplete<'a>>,
    #[serde(default, deserialize_with = "optional")]
    pub(super) usage: Option<WireUsage>,
}

#[derive(Deserialize)]
pub(super) struct Incomplete<'a> {
    #[serde(borrow)]
    pub(super) reason: Option<Cow<'a, str>>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    pub(super) input_tokens: Count,
    pub(super) output_tokens: Count,
    #[serde(deserialize_with = "optional")]
    pub(super) input_tokens_details: Option<Details>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Details {
    pub(super) cached_tokens: Count,
    pub(super) cache_write_tokens: Count,
}
