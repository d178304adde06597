//! The JSON encoding: names in camel case, ids in hexadecimal, 64-bit numbers as strings.

use serde_json::{Map, Value};
use windlass_vocabulary::to_hex;

use super::{WireField, WireMessage, WireValue};

#[must_use]
pub(crate) fn encode(message: &WireMessage<'_>) -> Vec<u8> {
    to_value(message).to_string().into_bytes()
}

fn to_value(message: &WireMessage<'_>) -> Value {
    let mut object = Map::new();
    for WireField { number: _, name, value } in &message.0 {
        let value = match value {
            WireValue::Text(text) => Value::from(text.as_ref()),
            WireValue::Id(id) => Value::from(to_hex(id)),
            WireValue::Flag(flag) => Value::from(*flag),
            WireValue::Number(number) => Value::from(*number),
            WireValue::Int(number) => Value::from(number.to_string()),
            WireValue::Fixed(number) => Value::from(number.to_string()),
            WireValue::Double(number) => Value::from(*number),
            WireValue::Message(inner) => to_value(inner),
            WireValue::Messages(list) => list.iter().map(to_value).collect(),
        };
        object.insert((*name).to_owned(), value);
    }
    Value::Object(object)
}
