//! A block only the provider understands, while it arrives.
//!
//! It goes back as it came: byte for byte if it came whole, field by field if it grew. Nothing
//! here knows what the block means.

use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use windlass_vocabulary::ProviderBlock;

use crate::lenient_json::{StreamedText, TextFragment, is_json};
use crate::{json_object, json_writer, provider_rules};

/// A provider's block that has begun.
#[derive(Debug)]
pub(super) struct ProviderBlockDraft {
    kind: String,
    original: String,
    /// Empty until the first delta.
    fields: Vec<(String, DraftFieldValue)>,
    /// Arguments of a tool that runs on the provider's side.
    input: StreamedText,
}

#[derive(Debug)]
enum DraftFieldValue {
    Whole(String),
    Text(StreamedText),
}

impl ProviderBlockDraft {
    pub(super) fn begin(kind: &str, json: &str) -> Self {
        Self {
            kind: String::from(kind),
            original: String::from(json),
            fields: Vec::new(),
            input: StreamedText::default(),
        }
    }

    /// Text grows, anything else is replaced: the only two things a delta can mean for a field.
    pub(super) fn apply_delta(&mut self, delta: &str) -> Result<(), serde_json::Error> {
        if self.fields.is_empty() {
            self.fields = json_object::parse_fields(&self.original)?
                .into_iter()
                .map(|(key, value)| {
                    (key.into_owned(), DraftFieldValue::Whole(String::from(value.get())))
                })
                .collect();
        }
        for (key, value) in json_object::parse_fields(delta)? {
            let text = serde_json::from_str::<TextFragment<'_>>(value.get()).ok();
            match (&*key, text) {
                ("type", _) => {}
                ("partial_json", Some(text)) => {
                    self.input.push(&text);
                }
                (_, text) => self.set_field(&key, value.get(), text.as_ref()),
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> ProviderBlock {
        let input = mem::take(&mut self.input).into_text();
        if is_json(&input) {
            self.set_field("input", &input, None);
        }
        let json =
            if self.fields.is_empty() { self.original } else { assemble_object(self.fields) };
        provider_rules::ANTHROPIC_MESSAGES.build_provider_block(&self.kind, &json)
    }

    fn set_field(&mut self, key: &str, whole: &str, text: Option<&TextFragment<'_>>) {
        let value = match text {
            None => DraftFieldValue::Whole(String::from(whole)),
            Some(text) => {
                let mut joined = self.take_field_text(key);
                joined.push(text);
                DraftFieldValue::Text(joined)
            }
        };
        match self.fields.iter_mut().find(|(name, _)| name == key) {
            Some((_, place)) => *place = value,
            None => self.fields.push((String::from(key), value)),
        }
    }

    /// The text a field holds so far; empty if it holds anything else.
    fn take_field_text(&mut self, key: &str) -> StreamedText {
        let mut joined = StreamedText::default();
        match self.fields.iter_mut().find(|(name, _)| name == key) {
            Some((_, DraftFieldValue::Text(text))) => joined = mem::take(text),
            Some((_, DraftFieldValue::Whole(whole))) => {
                if let Ok(text) = serde_json::from_str::<TextFragment<'_>>(whole) {
                    joined.push(&text);
                }
            }
            None => {}
        }
        joined
    }
}

fn assemble_object(fields: Vec<(String, DraftFieldValue)>) -> String {
    let mut json = Vec::from(*b"{");
    for (position, (key, value)) in fields.into_iter().enumerate() {
        if position > 0 {
            json.push(b',');
        }
        json_writer::append_string(&mut json, &key);
        json.push(b':');
        match value {
            DraftFieldValue::Whole(whole) => json_writer::append_raw(&mut json, &whole),
            DraftFieldValue::Text(text) => json_writer::append_string(&mut json, &text.into_text()),
        }
    }
    json.push(b'}');
    String::from_utf8(json).unwrap_or_default()
}
