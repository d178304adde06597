//! Derives a tool's schema from its input type, and parses a model's JSON.
//!
//! The Rust type is the only description of an input: the schema for the model is derived from it,
//! and it is the parser, so the two cannot disagree. Errors name the field and what was expected.
//! Unknown fields are tolerated; they are mentioned only with another error, because they are then
//! a likely cause.

mod lenient;
mod schema;

use serde::de::DeserializeOwned;
use serde_json::Value;
use windlass_vocabulary::Json;

pub use lenient::{flag, whole_number};
pub use schema::build_spec;

/// An error in one field of an input.
#[derive(Debug)]
pub struct InputError {
    field: &'static str,
    reason: String,
}

impl InputError {
    pub fn field(field: &'static str, why: impl Into<String>) -> Self {
        Self { field, reason: why.into() }
    }

    pub fn to_message(&self, tool: &str) -> String {
        format!("The input of {tool} is not valid: field `{}`: {}.", self.field, self.reason)
    }
}

/// Parses the input. The error says what is wrong, where, and what was expected.
pub fn parse_input<I: DeserializeOwned>(
    tool: &str,
    schema: &Json,
    input: &Json,
) -> Result<I, String> {
    let mut deserializer = serde_json::Deserializer::from_str(input.as_str());
    serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let cause = strip_position(error.inner());
        let schema: Value = serde_json::from_str(schema.as_str()).unwrap_or_default();
        let field = match path.as_str() {
            "" | "." => parse_missing_field(&cause),
            path => Some(path),
        };
        let mut text = match path.as_str() {
            "" | "." => format!("The input of {tool} is not valid: {cause}."),
            path => format!("The input of {tool} is not valid: field `{path}`: {cause}."),
        };
        if let Some(expected) = field.and_then(|field| describe_expected(&schema, field)) {
            text.push_str(&format!(" Expected there: {expected}"));
        }
        text.push_str(&describe_unknown_fields(&schema, input));
        text
    })
}

/// Removes the line and column, which refer to JSON that the model did not format.
fn strip_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) if error.is_data() => text.get(..at).unwrap_or(&text).to_owned(),
        _ => text,
    }
}

fn parse_missing_field(cause: &str) -> Option<&str> {
    cause.strip_prefix("missing field `")?.strip_suffix('`')
}

/// The type and description of a field in the schema. Indices of lists lead to the item schema.
fn describe_expected(schema: &Value, path: &str) -> Option<String> {
    let mut here = schema;
    for step in path.split(['.', '[']) {
        here = match step.strip_suffix(']') {
            Some(_) => here.get("items")?,
            None => here.get("properties")?.get(step)?,
        };
    }
    let mut text = match (here.get("enum"), here.get("type")) {
        (Some(Value::Array(choices)), _) => {
            let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
            choices.join(" or ")
        }
        (_, Some(Value::String(kind))) => kind.clone(),
        _ => return None,
    };
    if let Some(Value::String(purpose)) = here.get("description") {
        text.push_str(&format!(". {purpose}"));
    }
    if !text.ends_with('.') {
        text.push('.');
    }
    Some(text)
}

fn describe_unknown_fields(schema: &Value, input: &Json) -> String {
    let (Ok(Value::Object(fields)), Some(Value::Object(known))) =
        (serde_json::from_str::<Value>(input.as_str()), schema.get("properties"))
    else {
        return String::new();
    };
    let strange: Vec<String> = fields
        .keys()
        .filter(|name| !known.contains_key(*name))
        .take(UNKNOWN_FIELDS_SHOWN)
        .map(|name| format!("`{}`", name.chars().take(UNKNOWN_FIELD_CHARS_MAX).collect::<String>()))
        .collect();
    match strange.is_empty() {
        true => String::new(),
        false => format!(" It has no field {}.", strange.join(", ")),
    }
}

const UNKNOWN_FIELDS_SHOWN: usize = 5;
const UNKNOWN_FIELD_CHARS_MAX: usize = 40;
