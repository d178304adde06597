//! Compares two requests, and finds their first difference.
//!
//! Equal means the same method, path and query, and body: JSON by value, anything else byte for
//! byte. Both are scrubbed, and placeholder numbers are removed. Headers are not compared.

use std::fmt;

use serde_json::Value;

use crate::cassette::exchange::RecordedRequest;
use crate::cassette::scrub::{CassetteScrubber, strip_placeholder_numbers};

/// A request in the form for comparison.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct NormalizedRequest {
    pub(super) method: String,
    pub(super) path: String,
    body: NormalizedBody,
}

#[derive(Clone, Debug, PartialEq)]
enum NormalizedBody {
    Json(Value),
    Text(String),
    Bytes(Vec<u8>),
}

/// The first difference between two requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RequestDifference {
    /// A JSON pointer into the body, or the part that differs.
    pointer: String,
    expected: String,
    got: String,
}

impl fmt::Display for RequestDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pointer, expected, got } = self;
        write!(f, "the first difference is at {pointer}: expected {expected}, got {got}")
    }
}

impl NormalizedRequest {
    pub(super) fn new(scrubber: &CassetteScrubber, request: RecordedRequest) -> Self {
        let (request, _) = scrubber.scrub_request(request);
        let body = match serde_json::from_slice(&request.body) {
            Ok(mut value) => {
                strip_numbers_in_value(&mut value);
                NormalizedBody::Json(value)
            }
            Err(_) => match String::from_utf8(request.body) {
                Ok(text) => NormalizedBody::Text(strip_placeholder_numbers(&text)),
                Err(error) => NormalizedBody::Bytes(error.into_bytes()),
            },
        };
        Self { method: request.method, path: strip_placeholder_numbers(&request.path), body }
    }

    /// Where `got` differs from what was expected.
    pub(super) fn find_difference(&self, got: &Self) -> Option<RequestDifference> {
        let build = |pointer: &str, expected: &str, got: &str| RequestDifference {
            pointer: pointer.to_owned(),
            expected: expected.to_owned(),
            got: got.to_owned(),
        };
        if self.method != got.method {
            return Some(build("the method", &self.method, &got.method));
        }
        if self.path != got.path {
            let (expected, got) = excerpt_around_difference(&self.path, &got.path);
            return Some(build("the path", &expected, &got));
        }
        match (&self.body, &got.body) {
            (expected, got) if expected == got => None,
            (NormalizedBody::Json(expected), NormalizedBody::Json(got)) => {
                diff_values(expected, got, &mut String::new())
            }
            (NormalizedBody::Text(expected), NormalizedBody::Text(got)) => {
                let (expected, got) = excerpt_around_difference(expected, got);
                Some(build("the body", &expected, &got))
            }
            (expected, got) => Some(build("the body", &expected.describe(), &got.describe())),
        }
    }
}

impl NormalizedBody {
    fn describe(&self) -> String {
        match self {
            Self::Json(value) => format!("JSON {}", shorten_text(&value.to_string())),
            Self::Text(text) => format!("text {}", quote(text)),
            Self::Bytes(bytes) => format!("{} bytes that are not text", bytes.len()),
        }
    }
}

fn strip_numbers_in_value(value: &mut Value) {
    match value {
        Value::String(text) if text.contains('<') => *text = strip_placeholder_numbers(text),
        Value::Array(list) => list.iter_mut().for_each(strip_numbers_in_value),
        Value::Object(fields) => fields.values_mut().for_each(strip_numbers_in_value),
        _ => {}
    }
}

/// The first difference, in list order and sorted by key.
fn diff_values(expected: &Value, got: &Value, pointer: &mut String) -> Option<RequestDifference> {
    if expected == got {
        return None;
    }
    let here = pointer.len();
    match (expected, got) {
        (Value::Object(expected), Value::Object(got)) => {
            let mut keys: Vec<&String> = expected.keys().chain(got.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                pointer.push('/');
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
                let difference = diff_members(expected.get(key), got.get(key), pointer);
                if difference.is_some() {
                    return difference;
                }
                pointer.truncate(here);
            }
            None
        }
        (Value::Array(expected), Value::Array(got)) => {
            for index in 0..expected.len().max(got.len()) {
                pointer.push_str(&format!("/{index}"));
                let difference = diff_members(expected.get(index), got.get(index), pointer);
                if difference.is_some() {
                    return difference;
                }
                pointer.truncate(here);
            }
            None
        }
        (Value::String(expected), Value::String(got)) => {
            let (expected, got) = excerpt_around_difference(expected, got);
            Some(difference_at(pointer, expected, got))
        }
        _ => Some(difference_at(
            pointer,
            shorten_text(&expected.to_string()),
            shorten_text(&got.to_string()),
        )),
    }
}

fn diff_members(
    expected: Option<&Value>,
    got: Option<&Value>,
    pointer: &mut String,
) -> Option<RequestDifference> {
    match (expected, got) {
        (Some(expected), Some(got)) => diff_values(expected, got, pointer),
        (None, None) => None,
        (expected, got) => {
            let shown = |value: Option<&Value>| {
                value.map_or_else(|| "nothing".to_owned(), |value| shorten_text(&value.to_string()))
            };
            Some(difference_at(pointer, shown(expected), shown(got)))
        }
    }
}

fn difference_at(pointer: &str, expected: String, got: String) -> RequestDifference {
    let pointer = if pointer.is_empty() { "the whole body".to_owned() } else { pointer.to_owned() };
    RequestDifference { pointer, expected, got }
}

/// Excerpts of two texts around their first difference.
fn excerpt_around_difference(expected: &str, got: &str) -> (String, String) {
    let same = expected.chars().zip(got.chars()).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(CONTEXT_CHARS);
    let window = |text: &str| {
        let begin = if from > 0 { "…" } else { "" };
        let rest: String = text.chars().skip(from).collect();
        quote(&format!("{begin}{rest}"))
    };
    (window(expected), window(got))
}

fn quote(text: &str) -> String {
    format!("{:?}", shorten_text(text))
}

fn shorten_text(text: &str) -> String {
    crate::server::shorten(text)
}

/// Characters shown before a difference.
const CONTEXT_CHARS: usize = 20;

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::diff_values;

    #[test]
    fn the_first_difference_is_named() {
        let long = "x".repeat(100);
        for (expected, got, wanted) in [
            (json!({"a": [1, 2]}), json!({"a": [1, 3]}), "/a/1: expected 2, got 3"),
            (json!({"a": 1}), json!({"a": 1, "b": null}), "/b: expected nothing, got null"),
            (json!({"a/b": {"~": 1}}), json!({"a/b": {}}), "/a~1b/~0: expected 1, got nothing"),
            (json!([1]), json!([1, "x"]), "/1: expected nothing, got \"x\""),
            (json!(1), json!("1"), "the whole body: expected 1, got \"1\""),
            (
                json!(format!("{long}a")),
                json!(format!("{long}b")),
                &format!("the whole body: expected \"…{0}a\", got \"…{0}b\"", "x".repeat(20)),
            ),
        ] {
            let difference =
                diff_values(&expected, &got, &mut String::new()).expect("a difference");
            assert_eq!(difference.to_string(), format!("the first difference is at {wanted}"));
        }
        assert_eq!(diff_values(&Value::Null, &Value::Null, &mut String::new()), None);
    }
}
