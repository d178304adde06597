//! How it went with one request.

use std::time::Duration;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SendResult {
    Accepted,
    /// May be accepted later; the collector may say when.
    TryAgain {
        why: String,
        after: Option<Duration>,
    },
    /// Will never be accepted.
    Refused {
        why: String,
    },
}

impl SendResult {
    pub(super) fn retry(why: impl Into<String>) -> Self {
        Self::TryAgain { why: why.into(), after: None }
    }

    /// What an HTTP status says. Only four of them are worth another try.
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

    /// What a grpc status says.
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
