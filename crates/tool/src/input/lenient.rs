//! Values that models spell in more than one way, read in all of them.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::Value;

/// A whole number that may arrive as `10`, `10.0` or `"10"`: some models write all three.
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

/// Yes or no, which may arrive as `true` or `"true"`. Nothing at all is no.
pub fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
    match Option::<Value>::deserialize(from)? {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(yes)) => Ok(yes),
        Some(Value::String(text)) if text == "true" => Ok(true),
        Some(Value::String(text)) if text == "false" => Ok(false),
        Some(_) => Err(D::Error::custom("expected true or false")),
    }
}
