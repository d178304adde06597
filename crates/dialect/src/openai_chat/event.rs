//! The chunks of this wire, borrowed from the stream. Fields that compatible servers fill in
//! unusual ways are parsed leniently.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::value::RawValue;

use crate::lenient_json::{TextFragment, TokenCount, optional};

#[derive(Deserialize)]
pub(super) struct ChatChunk<'a> {
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional")]
    pub(super) model: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) choices: Option<Vec<ChatChoice<'a>>>,
    #[serde(default, deserialize_with = "optional")]
    pub(super) usage: Option<ChatUsage>,
}

impl ChatChunk<'_> {
    pub(super) fn has_error(&self) -> bool {
        self.error.is_some_and(|error| error.get() != "null")
    }
}

#[derive(Deserialize)]
pub(super) struct ChatChoice<'a> {
    #[serde(default, deserialize_with = "optional")]
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Option<ChatDelta<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Cow<'a, str>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatDelta<'a> {
    #[serde(borrow)]
    pub(super) content: Option<ChatContent<'a>>,
    #[serde(borrow)]
    pub(super) refusal: Option<TextFragment<'a>>,
    #[serde(borrow, deserialize_with = "optional")]
    pub(super) reasoning_content: Option<TextFragment<'a>>,
    #[serde(borrow, deserialize_with = "optional")]
    pub(super) reasoning: Option<TextFragment<'a>>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<ChatCallDelta<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct ChatCallDelta<'a> {
    #[serde(default, deserialize_with = "optional")]
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) function: Option<ChatFunctionDelta<'a>>,
}

#[derive(Default, Deserialize)]
pub(super) struct ChatFunctionDelta<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

/// Text, or a list of typed parts of which only text counts.
pub(super) struct ChatContent<'a>(pub(super) Vec<TextFragment<'a>>);

impl<'de: 'a, 'a> Deserialize<'de> for ChatContent<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct ChatContentPart<'a> {
            #[serde(borrow)]
            text: Option<TextFragment<'a>>,
        }
        let raw: &'de RawValue = Deserialize::deserialize(deserializer)?;
        if let Ok(text) = serde_json::from_str::<TextFragment<'de>>(raw.get()) {
            return Ok(Self(Vec::from([text])));
        }
        let parts =
            serde_json::from_str::<Vec<ChatContentPart<'de>>>(raw.get()).unwrap_or_default();
        Ok(Self(parts.into_iter().filter_map(|part| part.text).collect()))
    }
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatUsage {
    pub(super) prompt_tokens: TokenCount,
    pub(super) completion_tokens: TokenCount,
    #[serde(deserialize_with = "optional")]
    pub(super) prompt_tokens_details: Option<ChatUsageDetails>,
    /// What some servers call the same.
    pub(super) prompt_cache_hit_tokens: TokenCount,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatUsageDetails {
    pub(super) cached_tokens: TokenCount,
    pub(super) cache_write_tokens: TokenCount,
}
