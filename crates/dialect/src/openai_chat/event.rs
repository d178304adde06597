//! The chunks of this wire as they stand in the stream, borrowed from it. Fields that imitations
//! fill in odd ways are read loosely.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::value::RawValue;

use crate::loose::{Count, Fragment, optional};

#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    #[serde(default, deserialize_with = "optional")]
    pub(super) usage: Option<WireUsage>,
}

impl Chunk<'_> {
    pub(super) fn has_error(&self) -> bool {
        self.error.is_some_and(|error| error.get() != "null")
    }
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default, deserialize_with = "optional")]
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Cow<'a, str>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) content: Option<Content<'a>>,
    #[serde(borrow)]
    pub(super) refusal: Option<Fragment<'a>>,
    #[serde(borrow, deserialize_with = "optional")]
    pub(super) reasoning_content: Option<Fragment<'a>>,
    #[serde(borrow, deserialize_with = "optional")]
    pub(super) reasoning: Option<Fragment<'a>>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<CallPiece<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct CallPiece<'a> {
    #[serde(default, deserialize_with = "optional")]
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) function: Option<Function<'a>>,
}

#[derive(Default, Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// Text, or a list of typed parts of which only text counts.
pub(super) struct Content<'a>(pub(super) Vec<Fragment<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Part<'a> {
            #[serde(borrow)]
            text: Option<Fragment<'a>>,
        }
        let raw: &'de RawValue = Deserialize::deserialize(deserializer)?;
        if let Ok(text) = serde_json::from_str::<Fragment<'de>>(raw.get()) {
            return Ok(Self(Vec::from([text])));
        }
        let parts = serde_json::from_str::<Vec<Part<'de>>>(raw.get()).unwrap_or_default();
        Ok(Self(parts.into_iter().filter_map(|part| part.text).collect()))
    }
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    pub(super) prompt_tokens: Count,
    pub(super) completion_tokens: Count,
    #[serde(deserialize_with = "optional")]
    pub(super) prompt_tokens_details: Option<Details>,
    /// What some servers call the same.
    pub(super) prompt_cache_hit_tokens: Count,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Details {
    pub(super) cached_tokens: Count,
    pub(super) cache_write_tokens: Count,
}
