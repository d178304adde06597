//! How messages get to a server and back: over its standard streams, over HTTP, or handed over
//! inside this process.
//!
//! A transport carries messages and knows when the other side is gone. What they mean, and how long
//! an answer may take, is decided above.

mod capped;
pub(crate) mod http;
pub(crate) mod line;
pub(crate) mod process;
pub(crate) mod said_headers;
pub(crate) mod two_ended;
pub(crate) mod values;

use std::sync::Arc;

use rmcp::service::{RoleClient, RxJsonRpcMessage};
use serde_json::Value;

use crate::connection::Health;

/// The longest message a server may send.
pub(crate) const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// What a message of a server turned out to be.
enum Read {
    Message(Box<RxJsonRpcMessage<RoleClient>>),
    /// Skip it.
    Nothing,
    /// It is one too many that makes no sense.
    Enough,
}

/// Makes a message of JSON. What is not one is noted and skipped.
fn read(value: Value, health: &Arc<Health>) -> Read {
    match serde_json::from_value(value) {
        Ok(message) => Read::Message(Box::new(message)),
        Err(error) if health.bad(&format!("not a message of the protocol ({error})")) => {
            Read::Enough
        }
        Err(_) => Read::Nothing,
    }
}

/// The same of bytes.
fn read_bytes(bytes: &[u8], health: &Arc<Health>) -> Read {
    if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
        return read(value, health);
    }
    let start = String::from_utf8_lossy(bytes.get(..80).unwrap_or(bytes)).into_owned();
    match health.bad(&format!("not JSON: {start}")) {
        true => Read::Enough,
        false => Read::Nothing,
    }
}

/// The other side is gone.
#[derive(Debug)]
pub(crate) struct Hangup;

impl std::fmt::Display for Hangup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the server is gone")
    }
}

impl std::error::Error for Hangup {}
