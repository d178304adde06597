//! Failures of a connection to a server, with messages that say what to do.

use std::fmt;
use std::time::Duration;

/// Why a request to a server failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpFailure {
    TimedOut {
        what: String,
        after: Duration,
    },
    /// The server answered with an error.
    Refused {
        code: i32,
        message: String,
    },
    Gone {
        reason: String,
    },
    /// The server requires a login.
    NeedsLogin {
        /// The server's challenge.
        challenge: String,
    },
    /// The server could not be started or reached.
    Unreachable {
        reason: String,
    },
    /// The server's answer is invalid.
    ProtocolViolation {
        reason: String,
    },
    Cancelled,
}

impl fmt::Display for McpFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut { what, after } => {
                write!(f, "no answer to {what} within {} s", after.as_secs_f32())
            }
            Self::Refused { code, message } => write!(f, "it answered: {message} ({code})"),
            Self::Gone { reason } => write!(f, "the connection is gone: {reason}"),
            Self::NeedsLogin { .. } => f.write_str("it needs a login"),
            Self::Unreachable { reason } => write!(f, "it cannot be reached: {reason}"),
            Self::ProtocolViolation { reason } => write!(f, "it broke the protocol: {reason}"),
            Self::Cancelled => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for McpFailure {}
