//! Deserializers for values that models write in several ways.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::Value;

/// An integer that may be written as `10`, `10.0` or `"10"`.
pub fn whole_number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let fail = || D::Error::custom("expected a whole number, zero or more");
    match Option::<Value>::deserialize(from)? {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => text.trim().parse().map(Some).map_err(|_| fail()),
        Some(Value::Number(number)) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => Ok(Some(whole)),
            (None, Some(float)) => parse_whole_float(float).map(Some).ok_or_else(fail),
            (None, None) => Err(fail()),
        },
        Some(_) => Err(fail()),
    }
}

fn parse_whole_float(float: f64) -> Option<u64> {
    let is_whole = float.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&float);
    is_whole.then(|| format!("{float:.0}").parse().ok())?
}

/// A boolean that may be written as `true` or `"true"`. A missing one is false.
pub fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    match Option::<Value>::deserialize(from)? {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(yes)) => Ok(yes),
        Some(Value::String(text)) if text == "true" => Ok(true),
        Some(Value::String(text)) if text == "false" => Ok(false),
        Some(_) => Err(D::Error::custom("expected true or false")),
    }
}
