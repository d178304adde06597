//! How values are written for people and for programs: counts, money, tables, tool calls, and text that
//! cannot steer a terminal.

pub mod dollars_json;
pub mod human_format;
pub mod text_table;
pub mod tool_call_summary;

use std::borrow::Cow;

use windlass_permission::sanitize::{escape_invisible, is_invisible_char, strip_control};

/// The text without anything that could steer a terminal: model and tools write what they like.
pub fn strip_control_characters(text: &str) -> Cow<'_, str> {
    match text.chars().any(is_terminal_control) {
        true => Cow::Owned(strip_control(text)),
        false => Cow::Borrowed(text),
    }
}

/// Every character of a call: the user sees exactly what runs.
pub fn escape_control_characters(text: &str) -> Cow<'_, str> {
    match text.chars().any(is_terminal_control) {
        true => Cow::Owned(escape_invisible(text)),
        false => Cow::Borrowed(text),
    }
}

fn is_terminal_control(letter: char) -> bool {
    (letter.is_control() && letter != '\n' && letter != '\t') || is_invisible_char(letter)
}
