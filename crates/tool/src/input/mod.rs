//! From a tool's input type to its schema, and from a model's JSON to the input type.
//!
//! The Rust type is the only description of an input: the schema shown to the model is derived
//! from it and the parser is it, so the two cannot disagree. What is wrong with an input is said
//! with the field and what was expected there. Unknown fields are tolerated; they are named only
//! when something else is wrong, because then they are likely the reason.

mod lenient;
mod schema;

use serde::de::DeserializeOwned;
use serde_json::Value;
use windlass_vocabulary::Json;

pub use lenient::{flag, whole_number};
pub use schema::build_spec;

/// What is wrong with one field of an input.
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

/// The input, or what is wrong with it, where, and what was expected instead.
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

/// The cause without the line and column, which point into JSON the model did not lay out.
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

/// The type of a field and what it is for, out of the schema. Places in lists lead to their items.
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
