//! Normalizes a server's schema to what every provider accepts: an object at the root, of limited
//! size.
//!
//! References are kept as they are and never resolved.

use serde_json::{Map, Value, json};

/// A longer schema is not shown to the model.
const SCHEMA_BYTES_MAX: usize = 48 * 1024;
/// A longer description is truncated.
const DESCRIPTION_BYTES_MAX: usize = 2 * 1024;

/// The schema for the model.
pub(super) fn normalize_schema(schema: &Value) -> String {
    let mut fields: Map<String, Value> = schema.as_object().cloned().unwrap_or_default();
    fields.remove("$schema");
    fields.insert("type".to_owned(), json!("object"));
    if !fields.get("properties").is_some_and(Value::is_object) {
        fields.insert("properties".to_owned(), json!({}));
    }
    let text = Value::Object(fields).to_string();
    match text.len() <= SCHEMA_BYTES_MAX {
        true => text,
        false => json!({
            "type": "object", "properties": {},
            "description": "The schema is too long to be shown; see the description.",
        })
        .to_string(),
    }
}

/// The description for the model.
pub(super) fn truncate_description(description: &str) -> String {
    let end = description.floor_char_boundary(DESCRIPTION_BYTES_MAX);
    match description.get(..end) {
        Some(cut) if end < description.len() => format!("{cut}… [cut]"),
        _ => description.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_always_an_object_with_properties() {
        let cases = [
            (json!({}), r#"{"properties":{},"type":"object"}"#),
            (
                json!({"type": ["object", "null"], "$schema": "x"}),
                r#"{"properties":{},"type":"object"}"#,
            ),
            (
                json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {}}}),
                r##"{"$defs":{"A":{}},"properties":{"a":{"$ref":"#/$defs/A"}},"type":"object"}"##,
            ),
        ];
        for (given, wanted) in cases {
            assert_eq!(normalize_schema(&given), wanted);
        }
        let vast = json!({"type": "object", "description": "x".repeat(SCHEMA_BYTES_MAX)});
        assert!(normalize_schema(&vast).len() < 200);
    }
}
