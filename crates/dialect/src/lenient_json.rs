//! Parses what servers write, leniently where strictness would gain nothing.
//!
//! A count that is negative, fractional or absurd counts as missing (zero), because the caller has an
//! estimate of its own. Text may be cut between the halves of a surrogate pair; the halves
//! are joined. Arguments of a call are checked, never repaired: what runs is what was written.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use core::fmt;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use windlass_vocabulary::Tokens;

/// A number of tokens as a server reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TokenCount(u64);

impl TokenCount {
    pub(crate) fn from_reported(value: u64) -> Self {
        Self(if value > COUNT_MAX { 0 } else { value })
    }

    pub(crate) fn tokens(self) -> Tokens {
        Tokens(self.0)
    }
}

impl<'de> Deserialize<'de> for TokenCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TokenCountVisitor)
    }
}

struct TokenCountVisitor;

impl<'de> Visitor<'de> for TokenCountVisitor {
    type Value = TokenCount;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a count")
    }

    fn visit_u64<E>(self, value: u64) -> Result<TokenCount, E> {
        Ok(TokenCount::from_reported(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<TokenCount, E> {
        Ok(TokenCount::from_reported(u64::try_from(value).unwrap_or(0)))
    }

    fn visit_f64<E>(self, _: f64) -> Result<TokenCount, E> {
        Ok(TokenCount(0))
    }

    fn visit_unit<E>(self) -> Result<TokenCount, E> {
        Ok(TokenCount(0))
    }

    fn visit_bool<E>(self, _: bool) -> Result<TokenCount, E> {
        Ok(TokenCount(0))
    }

    fn visit_str<E>(self, _: &str) -> Result<TokenCount, E> {
        Ok(TokenCount(0))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<TokenCount, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(TokenCount(0))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TokenCount, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(TokenCount(0))
    }
}

/// More tokens than any request can have; a report above it is nonsense.
const COUNT_MAX: u64 = 1_000_000_000;

/// A piece of text that may begin or end inside a surrogate pair.
#[derive(Debug)]
pub(crate) struct TextFragment<'a>(Cow<'a, [u8]>);

impl<'de: 'a, 'a> Deserialize<'de> for TextFragment<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_bytes(TextFragmentVisitor)
    }
}

struct TextFragmentVisitor;

impl<'de> Visitor<'de> for TextFragmentVisitor {
    type Value = TextFragment<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_borrowed_bytes<E>(self, bytes: &'de [u8]) -> Result<TextFragment<'de>, E> {
        Ok(TextFragment(Cow::Borrowed(bytes)))
    }

    fn visit_bytes<E>(self, bytes: &[u8]) -> Result<TextFragment<'de>, E> {
        Ok(TextFragment(Cow::Owned(bytes.into())))
    }
}

/// Text that grows by fragments.
#[derive(Debug, Default)]
pub(crate) struct StreamedText {
    text: String,
    /// The first half of a surrogate pair whose second half has not arrived.
    pending_surrogate: Option<u32>,
}

impl StreamedText {
    /// Adds a fragment and returns what it added.
    pub(crate) fn push(&mut self, fragment: &TextFragment<'_>) -> &str {
        let before = self.text.len();
        let mut rest: &[u8] = &fragment.0;
        loop {
            let (valid, broken) = split_valid(rest);
            if !valid.is_empty() {
                self.flush_pending_surrogate();
                self.text.push_str(valid);
            }
            let Some((unit, after)) = broken else { break };
            self.push_surrogate(unit);
            rest = after;
        }
        self.text.get(before..).unwrap_or_default()
    }

    /// Drops the text already taken, keeping only half a character that waits for the other half.
    pub(crate) fn clear_text(&mut self) {
        self.text.clear();
    }

    /// Adds text that was never cut.
    pub(crate) fn push_str(&mut self, text: &str) -> &str {
        let before = self.text.len();
        self.flush_pending_surrogate();
        self.text.push_str(text);
        self.text.get(before..).unwrap_or_default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.pending_surrogate.is_none()
    }

    pub(crate) fn into_text(mut self) -> String {
        self.flush_pending_surrogate();
        self.text
    }

    fn push_surrogate(&mut self, unit: u32) {
        let first = self.pending_surrogate.take();
        if let (Some(high), 0xDC00..=0xDFFF) = (first, unit) {
            let point = 0x1_0000 + ((high & 0x3FF) << 10) + (unit & 0x3FF);
            self.text.push(char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER));
            return;
        }
        if first.is_some() {
            self.text.push(char::REPLACEMENT_CHARACTER);
        }
        if matches!(unit, 0xD800..=0xDBFF) {
            self.pending_surrogate = Some(unit);
        } else {
            self.text.push(char::REPLACEMENT_CHARACTER);
        }
    }

    fn flush_pending_surrogate(&mut self) {
        if self.pending_surrogate.take().is_some() {
            self.text.push(char::REPLACEMENT_CHARACTER);
        }
    }
}

/// The longest valid text, then the lone surrogate that ended it (as three bytes) and the rest.
fn split_valid(bytes: &[u8]) -> (&str, Option<(u32, &[u8])>) {
    let error = match core::str::from_utf8(bytes) {
        Ok(text) => return (text, None),
        Err(error) => error,
    };
    let (valid, broken) = bytes.split_at_checked(error.valid_up_to()).unwrap_or_default();
    let valid = core::str::from_utf8(valid).unwrap_or_default();
    match broken {
        [0xED, second @ 0xA0..=0xBF, third @ 0x80..=0xBF, after @ ..] => {
            let unit = 0xD000 | (u32::from(second & 0x3F) << 6) | u32::from(third & 0x3F);
            (valid, Some((unit, after)))
        }
        [_, after @ ..] => (valid, Some((0, after))),
        [] => (valid, None),
    }
}

/// An optional field: a value of the wrong type counts as missing.
pub(crate) fn optional<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let raw: &'de RawValue = Deserialize::deserialize(deserializer)?;
    // Parsing would fail as well, but a failure costs an allocation and some wires send many nulls.
    if raw.get() == "null" {
        return Ok(None);
    }
    Ok(serde_json::from_str(raw.get()).ok())
}

/// Is this one complete JSON document?
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Checks the arguments of a call: one JSON object, nested no deeper than any reader can follow.
pub(crate) fn check_arguments(text: &str) -> Result<(), String> {
    if let Err(error) = serde_json::from_str::<&RawValue>(text) {
        return Err(format!(
            "The arguments of this call are not valid JSON ({error}), so it was not run. \
             Send the call again with complete, valid JSON."
        ));
    }
    if !text.trim_start().starts_with('{') {
        return Err(String::from(
            "The arguments of this call are not a JSON object, so it was not run. \
             Send the call again with an object.",
        ));
    }
    if measure_json_depth(text) > DEPTH_MAX {
        return Err(format!(
            "The arguments of this call are nested more than {DEPTH_MAX} levels deep, so it was \
             not run. Send the call again with flatter arguments."
        ));
    }
    Ok(())
}

/// How deep valid JSON is nested. Iterative, because the input is not ours.
pub(crate) fn measure_json_depth(json: &str) -> usize {
    let mut deepest = 0_usize;
    let mut current = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                current = current.saturating_add(1);
                deepest = deepest.max(current);
            }
            b'}' | b']' if !in_string => current = current.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Readers further on stop at 128 levels; stay clear of that with what is wrapped around it.
pub(crate) const DEPTH_MAX: usize = 100;
