//! Writing JSON by pieces into one growing buffer. Only strings need care; the rest is assembled
//! by the callers, in a fixed order, so that the same request is the same bytes.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

pub(crate) fn append_raw(out: &mut Vec<u8>, json: &str) {
    out.extend_from_slice(json.as_bytes());
}

pub(crate) fn append_string(out: &mut Vec<u8>, text: &str) {
    // Serializing text cannot fail; the default only avoids a panic.
    let quoted = serde_json::to_vec(text).unwrap_or_else(|_| Vec::from(*b"\"\""));
    out.extend_from_slice(&quoted);
}

/// Appends `"key":"text"`, the key being a literal without anything to escape.
pub(crate) fn append_field(out: &mut Vec<u8>, key: &str, text: &str) {
    out.push(b'"');
    append_raw(out, key);
    append_raw(out, "\":");
    append_string(out, text);
}

/// Appends a JSON string that is a `data:` address of base64, which needs no escaping.
pub(crate) fn append_media_url(out: &mut Vec<u8>, media_type: &str, base64: &str) {
    append_raw(out, "\"data:");
    append_raw(out, media_type);
    append_raw(out, ";base64,");
    append_raw(out, base64);
    out.push(b'"');
}

/// Writes items apart by commas, when they do not come from one list.
#[derive(Default)]
pub(crate) struct CommaSeparator(bool);

impl CommaSeparator {
    /// Call before each item.
    pub(crate) fn append_before_item(&mut self, out: &mut Vec<u8>) {
        if core::mem::replace(&mut self.0, true) {
            out.push(b',');
        }
    }
}

/// The non-empty parts of a system prompt, as one text.
pub(crate) fn join_system_prompt(pieces: &[Arc<str>]) -> String {
    let mut joined = String::new();
    for piece in pieces.iter().filter(|piece| !piece.trim().is_empty()) {
        if !joined.is_empty() {
            joined.push_str("\n\n");
        }
        joined.push_str(piece);
    }
    joined
}

pub(crate) fn append_number(out: &mut Vec<u8>, value: u64) {
    append_raw(out, &alloc::format!("{value}"));
}

/// Appends every item, with commas between those that wrote something.
pub(crate) fn append_list<T>(
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

/// Names as a JSON list.
pub(crate) fn to_json_list(names: &[String]) -> String {
    serde_json::to_string(names).unwrap_or_else(|_| String::from("[]"))
}
