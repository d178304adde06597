//! From a tool's input type to its schema, and from a model's JSON to the input type.
//!
//! The Rust type is the only description of an input: the schema shown to the model is derived
//! from it and the parser is it, so the two cannot disagree. Unknown fields are tolerated.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde_json::Value;
use windlass_vocabulary::{Json, ToolName, ToolSpec};

/// A spec whose schema is that of the input type.
pub(crate) fn spec<I: JsonSchema>(
    name: &str,
    description: &str,
    result_bytes_max: usize,
) -> ToolSpec {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<I>().to_value();
    tidy(&mut schema);
    ToolSpec {
        name: ToolName::from(name),
        description: description.into(),
        input_schema: Json::from_checked(&schema.to_string()),
        result_bytes_max,
    }
}

/// The input, or what is wrong with it and where.
pub(crate) fn parse<I: DeserializeOwned>(tool: &str, input: &Json) -> Result<I, String> {
    let mut deserializer = serde_json::Deserializer::from_str(input.as_str());
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let cause = plain_cause(error.inner());
        match path.as_str() {
            "" | "." => format!("The input of {tool} is not valid: {cause}."),
            path => format!("The input of {tool} is not valid: field `{path}`: {cause}."),
        }
    })
}

/// The cause without the line and column, which point into JSON the model did not lay out.
fn plain_cause(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) if error.is_data() => text.get(..at).unwrap_or(&text).to_owned(),
        _ => text,
    }
}

/// Takes out what a model does not need: titles, formats, nulls that only say "optional".
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            map.retain(|key, value| match key.as_str() {
                "title" | "format" | "$schema" => !value.is_string(),
                "default" => !value.is_null(),
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
            map.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
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

/// A whole number that may arrive as `10`, `10.0` or `"10"`: some models write all three.
pub(crate) fn whole_number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let fail = || D::Error::custom("expected a whole number, zero or more");
    match Option::<Value>::deserialize(from)? {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => text.trim().parse().map(Some).map_err(|_| fail()),
        Some(Value::Number(number)) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => Ok(Some(whole)),
            (None, Some(float)) => whole_float(float).map(Some).ok_or_else(fail),
            (None, None) => Err(fail()),
        },
        Some(_) => Err(fail()),
    }
}

fn whole_float(float: f64) -> Option<u64> {
    let is_whole = float.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&float);
    is_whole.then(|| format!("{float:.0}").parse().ok())?
}
