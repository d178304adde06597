//! Failures of a connection to a server, with messages that say what to do.

use std::fmt;
use std::time::Duration;

/// Why something could not be had of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum McpFailure {
    /// It did not answer in time.
    TimedOut {
        what: String,
        after: Duration,
    },
    /// It answered with an error.
    Refused {
        code: i32,
        message: String,
    },
    Gone {
        /// Why, as far as it is known.
        reason: String,
    },
    /// It wants to know who we are first.
    NeedsLogin {
        /// What it said about that.
        challenge: String,
    },
    /// It could not be started or reached.
    Unreachable {
        reason: String,
    },
    /// It answered with something that makes no sense.
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
