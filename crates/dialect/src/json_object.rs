//! The fields of a JSON object, verbatim and in their order. For objects of which we know only a
//! part and must not alter the rest.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of an object.
pub(crate) fn parse_fields(
    json: &str,
) -> Result<Vec<(Cow<'_, str>, &RawValue)>, serde_json::Error> {
    serde_json::from_str::<JsonFields<'_>>(json).map(|fields| fields.0)
}

struct JsonFields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for JsonFields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(JsonFieldsVisitor)
    }
}

struct JsonFieldsVisitor;

impl<'de> Visitor<'de> for JsonFieldsVisitor {
    type Value = JsonFields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Vec::new();
        while let Some((JsonFieldKey(key), value)) =
            map.next_entry::<JsonFieldKey<'de>, &'de RawValue>()?
        {
            fields.push((key, value));
        }
        Ok(JsonFields(fields))
    }
}

/// A key, borrowed where the text allows it.
#[derive(serde::Deserialize)]
struct JsonFieldKey<'a>(#[serde(borrow)] Cow<'a, str>);
