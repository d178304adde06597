//! The outcome of one request.

use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SendResult {
    Accepted,
    /// Worth a retry; the collector may say when.
    TryAgain {
        why: String,
        after: Option<Duration>,
    },
    /// A retry would not help.
    Refused {
        why: String,
    },
}

impl SendResult {
    pub(super) fn retry(why: impl Into<String>) -> Self {
        Self::TryAgain { why: why.into(), after: None }
    }

    /// Maps an HTTP status. OTLP permits a retry for only four of them.
    pub(super) fn from_status(status: u16, retry_after: Option<&str>) -> Self {
        match status {
            200..=299 => Self::Accepted,
            429 | 502 | 503 | 504 => Self::TryAgain {
                why: format!("the collector answered {status}"),
                after: retry_after
                    .and_then(|text| text.trim().parse().ok())
                    .map(Duration::from_secs),
            },
            _ => Self::Refused { why: format!("the collector answered {status}") },
        }
    }

    /// Maps a gRPC status.
    pub(super) fn from_grpc_status(status: u32) -> Self {
        match status {
            0 => Self::Accepted,
            // Cancelled, deadline, exhausted, aborted, out of range, unavailable, data loss.
            1 | 4 | 8 | 10 | 11 | 14 | 15 => {
                Self::retry(format!("the collector answered with grpc status {status}"))
            }
            _ => Self::Refused { why: format!("the collector answered with grpc status {status}") },
        }
    }
}
