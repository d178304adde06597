//! Derives the schema of an input, without what a model does not need.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;
use windlass_vocabulary::{Json, ToolName, ToolSpec};

/// A spec with the schema of the input type.
#[must_use]
pub fn build_spec<I: JsonSchema>(
    name: &str,
    description: &str,
    result_bytes_max: usize,
) -> ToolSpec {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<I>().to_value();
    simplify_schema(&mut schema);
    if let Value::Object(map) = &mut schema {
        // A type without fields has no `properties`, but providers require the key.
        map.entry("properties").or_insert_with(|| Value::Object(serde_json::Map::new()));
    }
    ToolSpec {
        name: ToolName::from(name),
        description: description.into(),
        input_schema: Json::from_checked(&schema.to_string()),
        result_bytes_max,
    }
}

/// Removes what a model does not need: titles, formats, bounds implied by the type, defaults that
/// mean "missing", nulls that mean "optional".
fn simplify_schema(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.retain(|key, value| match key.as_str() {
                "title" | "format" | "$schema" => !value.is_string(),
                "minimum" => value.as_f64() != Some(0.0),
                "default" => !(value.is_null() || *value == Value::Bool(false)),
                _ => true,
            });
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    map.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(choices)) = map.get_mut("enum") {
                choices.retain(|choice| !choice.is_null());
            }
            flatten_optional(map);
            flatten_choice(map);
            map.values_mut().for_each(simplify_schema);
        }
        Value::Array(items) => items.iter_mut().for_each(simplify_schema),
        _ => {}
    }
}

/// A choice of constants becomes an `enum`, which every provider understands.
fn flatten_choice(map: &mut serde_json::Map<String, Value>) {
    let Some(Value::Array(choices)) = map.get("oneOf") else {
        return;
    };
    let words: Option<Vec<Value>> = choices
        .iter()
        .map(|choice| choice.get("const").filter(|word| word.is_string()).cloned())
        .collect();
    if let Some(words) = words {
        map.remove("oneOf");
        map.insert("type".to_owned(), Value::from("string"));
        map.insert("enum".to_owned(), Value::Array(words));
    }
}

/// `anyOf: [X, null]` becomes X.
fn flatten_optional(map: &mut serde_json::Map<String, Value>) {
    let Some(Value::Array(choices)) = map.get_mut("anyOf") else {
        return;
    };
    choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
    if choices.len() == 1
        && let Some(Value::Object(only)) = choices.pop()
    {
        map.remove("anyOf");
        map.extend(only);
    }
}
