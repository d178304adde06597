//! The events of this wire as they stand in the stream, borrowed from it. Only what is used is
//! named; everything else is skipped by the parser.

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

#[derive(Deserialize)]
pub(super) struct MessageStart<'a> {
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) message: Option<Opening<'a>>,
}

#[derive(Default, Deserialize)]
pub(super) struct Opening<'a> {
    #[serde(borrow)]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) model: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "optional")]
    pub(super) usage: Option<WireUsage>,
}

#[derive(Deserialize)]
pub(super) struct BlockStart<'a> {
    pub(super) index: u64,
    #[serde(borrow)]
    pub(super) content_block: &'a RawValue,
}

#[derive(Deserialize)]
pub(super) struct BlockDelta<'a> {
    pub(super) index: u64,
    #[serde(borrow)]
    pub(super) delta: &'a RawValue,
}

#[derive(Default, Deserialize)]
pub(super) struct Part<'a> {
    #[serde(borrow)]
    pub(super) text: Option<Fragment<'a>>,
    #[serde(borrow)]
    pub(super) thinking: Option<Fragment<'a>>,
    #[serde(borrow)]
    pub(super) partial_json: Option<Fragment<'a>>,
    #[serde(borrow)]
    pub(super) signature: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
pub(super) struct BlockStop {
    pub(super) index: u64,
}

#[derive(Deserialize)]
pub(super) struct MessageDelta<'a> {
    #[serde(borrow)]
    pub(super) delta: Option<Change<'a>>,
    #[serde(default, deserialize_with = "optional")]
    pub(super) usage: Option<WireUsage>,
    #[serde(default, deserialize_with = "optional")]
    pub(super) context_management: Option<ContextManagement>,
}

/// What the provider took out of the input on its side.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ContextManagement {
    pub(super) applied_edits: Vec<AppliedEdit>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct AppliedEdit {
    pub(super) cleared_tool_uses: Count,
    pub(super) cleared_input_tokens: Count,
}

#[derive(Default, Deserialize)]
pub(super) struct Change<'a> {
    #[serde(borrow)]
    pub(super) stop_reason: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) stop_details: Option<StopDetails<'a>>,
}

#[derive(Deserialize)]
pub(super) struct StopDetails<'a> {
    #[serde(borrow)]
    pub(super) category: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) explanation: Option<Cow<'a, str>>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    pub(super) input_tokens: Count,
    pub(super) output_tokens: Count,
    pub(super) cache_creation_input_tokens: Count,
    pub(super) cache_read_input_tokens: Count,
}
