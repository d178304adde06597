//! Is a schema sound? Every key that is known must have the kind of value it takes.

use serde_json::Value;

use super::{DEPTH_MAX, compile_pattern, resolve_reference};

/// Looks a schema through. The error names the place.
pub(super) fn check_schema(root: &Value) -> Result<(), String> {
    check_subschema(root, root, "", DEPTH_MAX)
}

fn check_subschema(root: &Value, value: &Value, place: &str, depth: usize) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("the schema at `{place}` {what}"));
    let Some(depth) = depth.checked_sub(1) else {
        return wrong("nests too deep");
    };
    let fields = match value {
        Value::Bool(_) => return Ok(()),
        Value::Object(fields) => fields,
        _ => return wrong("must be an object, or true or false"),
    };
    for (key, value) in fields {
        check_keyword(root, key, value, &format!("{place}/{key}"), depth)?;
    }
    Ok(())
}

fn check_keyword(
    root: &Value,
    key: &str,
    value: &Value,
    place: &str,
    depth: usize,
) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("the schema at `{place}` {what}"));
    match (key, value) {
        ("type", value) if !is_valid_type(value) => wrong("names no type of JSON"),
        ("enum" | "prefixItems" | "required" | "allOf" | "anyOf" | "oneOf", value)
            if !value.is_array() =>
        {
            wrong("must be a list")
        }
        ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(items)) => match items.len() {
            0 => wrong("is an empty list"),
            _ => items.iter().enumerate().try_for_each(|(n, item)| {
                check_subschema(root, item, &format!("{place}/{n}"), depth)
            }),
        },
        ("required", Value::Array(items)) if !items.iter().all(Value::is_string) => {
            wrong("must be a list of names")
        }
        ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(schemas)) => {
            schemas.iter().try_for_each(|(name, value)| {
                if key == "patternProperties"
                    && let Err(why) = compile_pattern(name)
                {
                    return wrong(&format!("has a pattern that cannot be read: {why}"));
                }
                check_subschema(root, value, &format!("{place}/{name}"), depth)
            })
        }
        ("properties" | "patternProperties" | "$defs" | "definitions", _) => {
            wrong("must be an object")
        }
        (key, value) if SCHEMA_KEYWORDS.contains(&key) => {
            check_subschema(root, value, place, depth)
        }
        (key, value) if COUNT_KEYWORDS.contains(&key) && value.as_u64().is_none() => {
            wrong("must be a whole number, not negative")
        }
        (key, value) if NUMBER_KEYWORDS.contains(&key) && !value.is_number() => {
            wrong("must be a number")
        }
        ("pattern", value) => match value.as_str().map(compile_pattern) {
            None => wrong("must be a text"),
            Some(Err(why)) => wrong(&format!("cannot be read: {why}")),
            Some(Ok(_)) => Ok(()),
        },
        ("$ref", value)
            if value.as_str().and_then(|name| resolve_reference(root, name)).is_none() =>
        {
            wrong("points at nothing inside the schema")
        }
        _ => Ok(()),
    }
}

fn is_valid_type(value: &Value) -> bool {
    let is_name = |value: &Value| value.as_str().is_some_and(|name| TYPE_NAMES.contains(&name));
    match value {
        Value::Array(names) => !names.is_empty() && names.iter().all(is_name),
        name => is_name(name),
    }
}

const TYPE_NAMES: &[&str] = &["null", "boolean", "object", "array", "number", "integer", "string"];
/// Keys whose value is a schema.
const SCHEMA_KEYWORDS: &[&str] = &[
    "items",
    "contains",
    "additionalProperties",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedProperties",
    "unevaluatedItems",
];
/// Keys whose value is a whole number.
const COUNT_KEYWORDS: &[&str] = &[
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "minContains",
    "maxContains",
];
/// Keys whose value is a number.
const NUMBER_KEYWORDS: &[&str] =
    &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
