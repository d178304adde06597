//! Writes requests to stderr as JSON, one per line, instead of sending them.

use windlass_host::standard_streams::write_error_line;

use crate::wire::{WireMessage, json};

pub(super) fn show(message: &WireMessage<'_>) {
    write_error_line(&String::from_utf8_lossy(&json::encode(message)));
}
