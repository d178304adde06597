//! Transports: standard streams, HTTP, WebSocket, or channels inside this process.
//!
//! A transport carries messages and detects that the other side is closed. The connection
//! interprets messages and sets deadlines.

mod capped_http;
pub(crate) mod capped_lines;
pub(crate) mod header_command;
pub(crate) mod http;
pub(crate) mod in_process;
pub(crate) mod legacy_sse;
pub(crate) mod stdio;
pub(crate) mod websocket;

use std::sync::Arc;

use rmcp::service::{RoleClient, RxJsonRpcMessage};
use serde_json::Value;

use crate::connection::ConnectionHealth;

/// Limit on a message from a server.
pub(crate) const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;

enum IncomingMessage {
    Message(Box<RxJsonRpcMessage<RoleClient>>),
    Skip,
    /// There were too many invalid messages.
    GiveUp,
}

/// Parses a message. An invalid one is counted and skipped.
fn parse_message(value: Value, health: &Arc<ConnectionHealth>) -> IncomingMessage {
    match serde_json::from_value(value) {
        Ok(message) => IncomingMessage::Message(Box::new(message)),
        Err(error)
            if health.note_bad_message(&format!("not a message of the protocol ({error})")) =>
        {
            IncomingMessage::GiveUp
        }
        Err(_) => IncomingMessage::Skip,
    }
}

/// The same for bytes.
fn parse_message_bytes(bytes: &[u8], health: &Arc<ConnectionHealth>) -> IncomingMessage {
    if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
        return parse_message(value, health);
    }
    let start = String::from_utf8_lossy(bytes.get(..80).unwrap_or(bytes)).into_owned();
    match health.note_bad_message(&format!("not JSON: {start}")) {
        true => IncomingMessage::GiveUp,
        false => IncomingMessage::Skip,
    }
}

/// The other side has closed the connection.
#[derive(Debug)]
pub(crate) struct PeerDisconnect;

impl std::fmt::Display for PeerDisconnect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the server is gone")
    }
}

impl std::error::Error for PeerDisconnect {}
