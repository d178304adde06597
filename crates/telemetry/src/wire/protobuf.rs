//! The protobuf encoding.

use super::{WireField, WireMessage, WireValue};

const VARINT: u32 = 0;
const EIGHT_BYTES: u32 = 1;
const LENGTH_DELIMITED: u32 = 2;

#[must_use]
pub(crate) fn encode(message: &WireMessage<'_>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(message_length(message));
    write_message(&mut bytes, message);
    bytes
}

fn write_message(out: &mut Vec<u8>, message: &WireMessage<'_>) {
    for WireField { number, name: _, value } in &message.0 {
        match value {
            WireValue::Text(text) => write_bytes(out, *number, text.as_bytes()),
            WireValue::Id(id) => write_bytes(out, *number, id),
            WireValue::Flag(flag) => write_number(out, *number, u64::from(*flag)),
            WireValue::Number(value) => write_number(out, *number, *value),
            WireValue::Int(value) => write_number(out, *number, value.cast_unsigned()),
            WireValue::Fixed(value) => write_eight(out, *number, value.to_le_bytes()),
            WireValue::Double(value) => write_eight(out, *number, value.to_le_bytes()),
            WireValue::Message(inner) => write_nested(out, *number, inner),
            WireValue::Messages(list) => {
                for inner in list {
                    write_nested(out, *number, inner);
                }
            }
        }
    }
}

fn write_nested(out: &mut Vec<u8>, number: u32, inner: &WireMessage<'_>) {
    write_key(out, number, LENGTH_DELIMITED);
    write_varint(out, message_length(inner) as u64);
    write_message(out, inner);
}

fn write_bytes(out: &mut Vec<u8>, number: u32, bytes: &[u8]) {
    write_key(out, number, LENGTH_DELIMITED);
    write_varint(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn write_number(out: &mut Vec<u8>, number: u32, value: u64) {
    write_key(out, number, VARINT);
    write_varint(out, value);
}

fn write_eight(out: &mut Vec<u8>, number: u32, bytes: [u8; 8]) {
    write_key(out, number, EIGHT_BYTES);
    out.extend_from_slice(&bytes);
}

fn write_key(out: &mut Vec<u8>, number: u32, kind: u32) {
    write_varint(out, u64::from(number << 3 | kind));
}

fn write_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn varint_length(value: u64) -> usize {
    let bits = 64 - (value | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

fn delimited_length(length: usize) -> usize {
    varint_length(length as u64) + length
}

fn message_length(message: &WireMessage<'_>) -> usize {
    let field_length = |WireField { number, name: _, value }: &WireField<'_>| {
        let key = varint_length(u64::from(number << 3));
        match value {
            WireValue::Text(text) => key + delimited_length(text.len()),
            WireValue::Id(id) => key + delimited_length(id.len()),
            WireValue::Flag(_) => key + 1,
            WireValue::Number(value) => key + varint_length(*value),
            WireValue::Int(value) => key + varint_length(value.cast_unsigned()),
            WireValue::Fixed(_) | WireValue::Double(_) => key + 8,
            WireValue::Message(inner) => key + delimited_length(message_length(inner)),
            WireValue::Messages(list) => {
                list.iter().map(|inner| key + delimited_length(message_length(inner))).sum()
            }
        }
    };
    message.0.iter().map(field_length).sum()
}
