//! One description of each message, written in either of two forms.
//!
//! A field has its number for protobuf and its name for JSON; what both need to know stands once, in
//! `otlp_messages`.

pub mod json;
pub mod otlp_messages;
pub mod protobuf;

use std::borrow::Cow;

/// A message: fields in the order of their numbers, as official encoders write them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WireMessage<'a>(Vec<WireField<'a>>);

#[derive(Clone, Debug, PartialEq)]
struct WireField<'a> {
    number: u32,
    name: &'static str,
    value: WireValue<'a>,
}

#[derive(Clone, Debug, PartialEq)]
enum WireValue<'a> {
    Text(Cow<'a, str>),
    /// Ids: bytes in protobuf, hexadecimal in JSON.
    Id(&'a [u8]),
    Flag(bool),
    /// Enums and small numbers: a number in JSON.
    Number(u64),
    /// A signed number of variable length: text in JSON.
    Int(i64),
    /// Eight bytes: text in JSON.
    Fixed(u64),
    Double(f64),
    Message(WireMessage<'a>),
    Messages(Vec<WireMessage<'a>>),
}

impl<'a> WireMessage<'a> {
    /// Fields must be added by rising number. What has its default value is left out, as the encodings
    /// say; `chosen` is for the one field of several, where the default says something.
    fn field(self, number: u32, name: &'static str, value: WireValue<'a>) -> Self {
        let is_default = match &value {
            WireValue::Text(text) => text.is_empty(),
            WireValue::Id(id) => id.is_empty(),
            WireValue::Flag(flag) => !flag,
            WireValue::Number(number) | WireValue::Fixed(number) => *number == 0,
            WireValue::Int(number) => *number == 0,
            WireValue::Double(number) => number.to_bits() == 0,
            WireValue::Messages(messages) => messages.is_empty(),
            WireValue::Message(_) => false,
        };
        if is_default { self } else { self.chosen(number, name, value) }
    }

    fn chosen(mut self, number: u32, name: &'static str, value: WireValue<'a>) -> Self {
        debug_assert!(self.0.last().is_none_or(|last| last.number < number));
        self.0.push(WireField { number, name, value });
        self
    }
}
