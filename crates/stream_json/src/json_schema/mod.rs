//! JSON Schema (draft 2020-12): checks schemas, and validates values.
//!
//! References stay inside the schema. `format` is an annotation, and so is every key that is not known.

mod schema_check;
mod validator;

use serde_json::Value;

/// A schema that is known to be sound.
#[derive(Clone, Debug)]
pub struct CheckedSchema {
    root: Value,
}

impl CheckedSchema {
    /// The error names the place that is wrong.
    pub fn new(root: Value) -> Result<Self, String> {
        schema_check::check_schema(&root)?;
        Ok(Self { root })
    }

    pub fn root(&self) -> &Value {
        &self.root
    }

    /// What is wrong with a value: the first few things, each with its place.
    pub fn validate(&self, value: &Value) -> Vec<String> {
        let mut validator = validator::SchemaValidator::new(&self.root);
        validator.validate(&self.root, value, "");
        validator.problems
    }
}

/// What a reference inside a schema points at.
fn resolve_reference<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let path = reference.strip_prefix('#')?;
    if path.is_empty() || path.starts_with('/') {
        return root.pointer(path);
    }
    find_anchor(root, path, DEPTH_MAX)
}

fn find_anchor<'a>(schema: &'a Value, name: &str, depth: usize) -> Option<&'a Value> {
    let depth = depth.checked_sub(1)?;
    match schema {
        Value::Object(fields) => {
            if fields.get("$anchor").and_then(Value::as_str) == Some(name) {
                return Some(schema);
            }
            fields.values().find_map(|field| find_anchor(field, name, depth))
        }
        Value::Array(items) => items.iter().find_map(|item| find_anchor(item, name, depth)),
        _ => None,
    }
}

fn compile_pattern(text: &str) -> Result<fancy_regex::Regex, String> {
    fancy_regex::RegexBuilder::new(text)
        .delegate_size_limit(PATTERN_BYTES_MAX)
        .build()
        .map_err(|error| error.to_string())
}

/// How deep schemas and values may nest.
const DEPTH_MAX: usize = 128;
/// Bytes a pattern may take.
const PATTERN_BYTES_MAX: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_fit_or_do_not() {
        let table = [
            (json!(true), json!(1), true),
            (json!(false), json!(1), false),
            (json!({ "type": "integer" }), json!(2.0), true),
            (json!({ "type": "integer" }), json!(2.5), false),
            (json!({ "type": ["string", "null"] }), json!(null), true),
            (json!({ "type": "number" }), json!("1"), false),
            (json!({ "enum": ["a", 1] }), json!(1), true),
            (json!({ "enum": ["a", 1] }), json!("b"), false),
            (json!({ "const": { "a": 1 } }), json!({ "a": 1.0 }), true),
            (json!({ "required": ["a"] }), json!({ "b": 1 }), false),
            (json!({ "properties": { "a": { "type": "string" } } }), json!({ "a": 1 }), false),
            (
                json!({ "properties": { "a": true }, "additionalProperties": false }),
                json!({ "b": 1 }),
                false,
            ),
            (
                json!({ "patternProperties": { "^x": { "type": "null" } } }),
                json!({ "x1": 1 }),
                false,
            ),
            (json!({ "additionalProperties": { "type": "number" } }), json!({ "b": "1" }), false),
            (json!({ "propertyNames": { "maxLength": 1 } }), json!({ "bb": 1 }), false),
            (json!({ "minProperties": 1, "maxProperties": 2 }), json!({}), false),
            (json!({ "dependentRequired": { "a": ["b"] } }), json!({ "a": 1 }), false),
            (json!({ "items": { "type": "string" } }), json!(["a", 1]), false),
            (json!({ "prefixItems": [{ "type": "string" }], "items": false }), json!(["a"]), true),
            (
                json!({ "prefixItems": [{ "type": "string" }], "items": false }),
                json!(["a", 1]),
                false,
            ),
            (json!({ "contains": { "const": 1 } }), json!([2, 3]), false),
            (json!({ "contains": { "const": 1 }, "minContains": 2 }), json!([1, 1]), true),
        ];
        compare(&table);
    }

    #[test]
    fn numbers_texts_and_combinations_fit_or_do_not() {
        let table = [
            (json!({ "minItems": 1, "maxItems": 2 }), json!([1, 2, 3]), false),
            (json!({ "uniqueItems": true }), json!([1, 1.0]), false),
            (json!({ "minimum": 1, "exclusiveMaximum": 3 }), json!(3), false),
            (json!({ "multipleOf": 0.5 }), json!(1.5), true),
            (json!({ "multipleOf": 2 }), json!(3), false),
            (json!({ "minLength": 2, "maxLength": 3 }), json!("ää"), true),
            (json!({ "pattern": "^a+$" }), json!("aab"), false),
            (json!({ "format": "date" }), json!("no date"), true),
            (json!({ "allOf": [{ "type": "number" }, { "minimum": 2 }] }), json!(1), false),
            (json!({ "anyOf": [{ "type": "number" }, { "type": "null" }] }), json!(null), true),
            (json!({ "anyOf": [{ "type": "number" }, { "type": "null" }] }), json!("a"), false),
            (json!({ "oneOf": [{ "minimum": 1 }, { "minimum": 2 }] }), json!(3), false),
            (json!({ "not": { "type": "number" } }), json!(1), false),
            (json!({ "if": { "minimum": 5 }, "then": { "multipleOf": 5 } }), json!(6), false),
            (json!({ "if": { "minimum": 5 }, "else": { "const": 1 } }), json!(1), true),
            (
                json!({ "$ref": "#/$defs/n", "$defs": { "n": { "type": "number" } } }),
                json!("a"),
                false,
            ),
            (
                json!({ "$ref": "#n", "$defs": { "n": { "$anchor": "n", "type": "number" } } }),
                json!(1),
                true,
            ),
            (
                json!({ "properties": { "next": { "$ref": "#" } }, "required": ["v"] }),
                json!({ "v": 1, "next": { "v": 2 } }),
                true,
            ),
            (
                json!({ "properties": { "next": { "$ref": "#" } }, "required": ["v"] }),
                json!({ "v": 1, "next": {} }),
                false,
            ),
            (
                json!({ "type": "object", "unevaluatedProperties": false, "properties": { "a": true } }),
                json!({ "b": 1 }),
                false,
            ),
        ];
        compare(&table);
    }

    fn compare(table: &[(Value, Value, bool)]) {
        for (schema, value, fits) in table {
            let problems = CheckedSchema::new(schema.clone()).unwrap().validate(value);
            assert_eq!(problems.is_empty(), *fits, "{schema} {value} {problems:?}");
        }
    }

    #[test]
    fn a_schema_that_is_wrong_is_refused_with_its_place() {
        let table = [
            (json!(3), "must be an object"),
            (json!({ "type": "text" }), "/type"),
            (json!({ "properties": { "a": 1 } }), "/properties/a"),
            (json!({ "required": "a" }), "/required"),
            (json!({ "items": { "minLength": -1 } }), "/items/minLength"),
            (json!({ "anyOf": [] }), "/anyOf"),
            (json!({ "pattern": "(" }), "/pattern"),
            (json!({ "$ref": "#/$defs/x" }), "/$ref"),
            (json!({ "$ref": "https://example.org/x" }), "/$ref"),
            (json!({ "enum": 1 }), "/enum"),
        ];
        for (schema, place) in table {
            let problem = CheckedSchema::new(schema.clone()).unwrap_err();
            assert!(problem.contains(place), "{schema} {problem}");
        }
    }

    #[test]
    fn what_goes_round_for_ever_ends() {
        let circle = json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#" } } });
        assert!(!CheckedSchema::new(circle).unwrap().validate(&json!(1)).is_empty());
    }

    #[test]
    fn problems_are_named_with_their_place() {
        let schema = json!({ "properties": { "a": { "items": { "type": "string" } } } });
        let problems = CheckedSchema::new(schema).unwrap().validate(&json!({ "a": ["x", 2] }));
        assert_eq!(problems, ["/a/1: 2 is not of type string"]);
    }
}
