//! Messages described once, for two encodings.
//!
//! A field has a number for protobuf and a name for JSON; `otlp_messages` defines both.

pub(crate) mod json;
pub(crate) mod otlp_messages;
pub(crate) mod protobuf;

use std::borrow::Cow;

/// A message, with fields in ascending order of their numbers, as official encoders write them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct WireMessage<'a>(Vec<WireField<'a>>);

#[derive(Clone, Debug, PartialEq)]
struct WireField<'a> {
    number: u32,
    name: &'static str,
    value: WireValue<'a>,
}

#[derive(Clone, Debug, PartialEq)]
enum WireValue<'a> {
    Text(Cow<'a, str>),
    /// An id: bytes in protobuf, hexadecimal in JSON.
    Id(&'a [u8]),
    Flag(bool),
    /// An enum or a small number: a number in JSON.
    Number(u64),
    /// A signed varint: a string in JSON.
    Int(i64),
    /// Fixed 64 bits: a string in JSON.
    Fixed(u64),
    Double(f64),
    Message(WireMessage<'a>),
    Messages(Vec<WireMessage<'a>>),
}

impl<'a> WireMessage<'a> {
    /// Adds a field; numbers must ascend. Default values are omitted, as the encodings require; use
    /// `chosen` for a member of a oneof, which must be present even with its default value.
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
        if is_default { self } else { self.push_field(number, name, value) }
    }

    fn push_field(mut self, number: u32, name: &'static str, value: WireValue<'a>) -> Self {
        debug_assert!(self.0.last().is_none_or(|last| last.number < number));
        self.0.push(WireField { number, name, value });
        self
    }
}
