//! How an answer fails while it streams.

use alloc::format;
use alloc::string::String;
use serde::Deserialize;

use windlass_vocabulary::{FailureKind, ModelFailure};

/// Reads one event, or one part of it.
pub(crate) fn parse_event<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, ModelFailure> {
    serde_json::from_str(data).map_err(|error| malformed_event_failure(&error))
}

/// The server broke the protocol.
pub(crate) fn protocol_failure(what: impl Into<String>) -> ModelFailure {
    ModelFailure::new(FailureKind::ServerFault, what)
}

/// An event is not the JSON it should be.
pub(crate) fn malformed_event_failure(error: &serde_json::Error) -> ModelFailure {
    protocol_failure(format!("an event of the stream cannot be read: {error}"))
}

/// The stream ended before the answer was complete.
pub(crate) fn truncated_stream_failure() -> ModelFailure {
    ModelFailure::new(FailureKind::Transport, "the stream ended before the answer was complete")
}
