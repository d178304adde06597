//! A frame as one line that is not too long for its reader.
//!
//! Long texts are shortened, the longest first, with a word about it; pictures are left out whole.
//! The session itself and its transcript keep everything.

use serde::Serialize;
use serde_json::Value;

/// The line, shortened to the limit. `None` if it cannot be serialized.
pub(crate) fn to_limited_line(frame: &impl Serialize, most: usize) -> Option<String> {
    let line = serde_json::to_string(frame).ok()?;
    if line.len() <= most {
        return Some(line);
    }
    let mut value: Value = serde_json::from_str(&line).ok()?;
    let mut longest = most / 2;
    while longest > SHORTEST {
        shorten_strings(&mut value, longest);
        let line = value.to_string();
        if line.len() <= most {
            return Some(line);
        }
        longest /= 2;
    }
    // Very many short texts: nothing of the contents can be kept.
    if let Value::Object(fields) = &mut value {
        for (_, field) in fields.iter_mut() {
            if field.to_string().len() > most / 8 {
                *field = Value::from(LEFT_OUT);
            }
        }
    }
    Some(value.to_string()).filter(|line| line.len() <= most)
}

pub(crate) fn json_length(frame: &impl Serialize) -> usize {
    serde_json::to_string(frame).map_or(0, |line| line.len())
}

fn shorten_strings(value: &mut Value, longest: usize) {
    match value {
        Value::String(text) if text.len() > longest => {
            let mut end = longest / 2;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            let left = text.len() - end;
            text.truncate(end);
            text.push_str(&format!("… [{left} more bytes {LEFT_OUT}]"));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| shorten_strings(item, longest)),
        Value::Object(fields) => {
            let is_data = fields.get("type").is_some_and(|kind| kind == "base64");
            for (name, field) in fields.iter_mut() {
                match field {
                    // Part of an image is useless, so all of its data is removed.
                    Value::String(text) if is_data && name == "data" && text.len() > longest => {
                        text.clear();
                    }
                    _ => shorten_strings(field, longest),
                }
            }
        }
        _ => {}
    }
}

const LEFT_OUT: &str = "left out: the line would be too long";
/// Texts are not made shorter than this.
const SHORTEST: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_line_fits_and_stays_json() {
        let long = "ä\u{1}\"".repeat(100_000);
        let many: Vec<Value> = (0..50_000).map(|n| json!({ "n": n })).collect();
        let cases = [
            json!({ "type": "user", "text": "short" }),
            json!({ "type": "user", "text": long }),
            json!({ "type": "user", "source": { "type": "base64", "data": "A".repeat(400_000) } }),
            json!({ "type": "user", "parts": [long, long, "kept"] }),
            json!({ "type": "user", "many": many }),
        ];
        for case in cases {
            let line = to_limited_line(&case, 100_000).unwrap();
            assert!(line.len() <= 100_000, "{}", line.len());
            let read: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(read["type"], "user");
            assert!(!line.contains('\n'));
        }
        let short =
            to_limited_line(&json!({ "parts": ["x".repeat(300_000), "kept"] }), 100_000).unwrap();
        assert!(short.contains("\"kept\"") && short.contains(LEFT_OUT));
    }
}
