//! Writing JSON by pieces into one growing buffer. Only strings need care; the rest is assembled
//! by the callers, in a fixed order, so that the same request is the same bytes.

use alloc::string::String;
use alloc::vec::Vec;

/// Appends literal JSON.
pub(crate) fn raw(out: &mut Vec<u8>, json: &str) {
    out.extend_from_slice(json.as_bytes());
}

/// Appends a JSON string.
pub(crate) fn string(out: &mut Vec<u8>, text: &str) {
    // Text always serialises; an empty string stands for the error that cannot happen.
    let quoted = serde_json::to_vec(text).unwrap_or_else(|_| Vec::from(*b"\"\""));
    out.extend_from_slice(&quoted);
}

/// Appends `"key":"text"`, the key being a literal without anything to escape.
pub(crate) fn field(out: &mut Vec<u8>, key: &str, text: &str) {
    out.push(b'"');
    raw(out, key);
    raw(out, "\":");
    string(out, text);
}

/// Appends a number.
pub(crate) fn number(out: &mut Vec<u8>, value: u64) {
    raw(out, &alloc::format!("{value}"));
}

/// Appends every item, with commas between those that wrote something.
pub(crate) fn list<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'[');
    let mut is_first = true;
    for item in items {
        if !is_first {
            out.push(b',');
        }
        is_first = false;
        write(out, item);
    }
    out.push(b']');
}

/// The first line of what a server said, without control characters, at most 500 characters.
pub(crate) fn first_line(text: &str) -> String {
    text.trim()
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .filter(|c| !c.is_control())
        .take(LINE_CHARS_MAX)
        .collect()
}

const LINE_CHARS_MAX: usize = 500;
