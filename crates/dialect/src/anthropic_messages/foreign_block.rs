//! A block only the provider understands, while it arrives.
//!
//! It goes back as it came: byte for byte if it came whole, field by field if it grew. Nothing
//! here knows what such a block means.

use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use windlass_vocabulary::ProviderBlock;

use crate::loose::{Fragment, Joined, is_json};
use crate::{law, object, write};

/// A provider's block that has begun.
#[derive(Debug)]
pub(super) struct ProviderDraft {
    kind: String,
    original: String,
    /// Empty until the first delta.
    fields: Vec<(String, Value)>,
    /// Arguments of a tool that runs on the provider's side.
    input: Joined,
}

#[derive(Debug)]
enum Value {
    Whole(String),
    Text(Joined),
}

impl ProviderDraft {
    pub(super) fn begin(kind: &str, json: &str) -> Self {
        Self {
            kind: String::from(kind),
            original: String::from(json),
            fields: Vec::new(),
            input: Joined::default(),
        }
    }

    /// Text grows, anything else is replaced: the only two things a delta can mean for a field.
    pub(super) fn grow(&mut self, delta: &str) -> Result<(), serde_json::Error> {
        if self.fields.is_empty() {
            self.fields = object::fields(&self.original)?
                .into_iter()
                .map(|(key, value)| (key.into_owned(), Value::Whole(String::from(value.get()))))
                .collect();
        }
        for (key, value) in object::fields(delta)? {
            let text = serde_json::from_str::<Fragment<'_>>(value.get()).ok();
            match (&*key, text) {
                ("type", _) => {}
                ("partial_json", Some(text)) => {
                    self.input.push(&text);
                }
                (_, text) => self.set(&key, value.get(), text.as_ref()),
            }
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> ProviderBlock {
        let input = mem::take(&mut self.input).into_text();
        if is_json(&input) {
            self.set("input", &input, None);
        }
        let json = if self.fields.is_empty() { self.original } else { assembled(self.fields) };
        law::ANTHROPIC_MESSAGES.block(&self.kind, &json)
    }

    fn set(&mut self, key: &str, whole: &str, text: Option<&Fragment<'_>>) {
        let value = match text {
            None => Value::Whole(String::from(whole)),
            Some(text) => {
                let mut joined = self.text_of(key);
                joined.push(text);
                Value::Text(joined)
            }
        };
        match self.fields.iter_mut().find(|(name, _)| name == key) {
            Some((_, place)) => *place = value,
            None => self.fields.push((String::from(key), value)),
        }
    }

    /// The text a field holds so far; empty if it holds anything else.
    fn text_of(&mut self, key: &str) -> Joined {
        let mut joined = Joined::default();
        match self.fields.iter_mut().find(|(name, _)| name == key) {
            Some((_, Value::Text(text))) => joined = mem::take(text),
            Some((_, Value::Whole(whole))) => {
                if let Ok(text) = serde_json::from_str::<Fragment<'_>>(whole) {
                    joined.push(&text);
                }
            }
            None => {}
        }
        joined
    }
}

fn assembled(fields: Vec<(String, Value)>) -> String {
    let mut json = Vec::from(*b"{");
    for (position, (key, value)) in fields.into_iter().enumerate() {
        if position > 0 {
            json.push(b',');
        }
        write::string(&mut json, &key);
        json.push(b':');
        match value {
            Value::Whole(whole) => write::raw(&mut json, &whole),
            Value::Text(text) => write::string(&mut json, &text.into_text()),
        }
    }
    json.push(b'}');
    String::from_utf8(json).unwrap_or_default()
}
