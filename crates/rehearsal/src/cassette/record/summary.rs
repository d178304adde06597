//! The result of a recording.

use std::fmt;

/// The result of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordSummary {
    pub exchanges: usize,
    /// Bytes written.
    pub bytes: u64,
    /// The number of values replaced.
    pub scrubbed: usize,
    /// The number of exchanges that were forwarded but not recorded.
    pub unrecorded: usize,
    /// The first hundred of those, with the reasons.
    pub reasons: Vec<UnrecordedExchange>,
}

/// An exchange that was not recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnrecordedExchange {
    /// The number of the request, counted from 1.
    pub number: usize,
    /// For example `POST /v1/messages`, scrubbed.
    pub request: String,
    pub reason: UnrecordedReason,
}

/// Why an exchange was not recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnrecordedReason {
    /// It exceeded the size limit.
    TooLarge,
    /// A body was compressed, so it could not be scrubbed.
    Compressed,
    /// It still contained a secret after scrubbing.
    StillSecret,
    /// There were more secrets than can be searched.
    TooManySecrets,
    /// The upstream was not asked: it cannot be reached, or the request cannot be forwarded.
    NotForwarded(String),
    /// The recording has reached its size limit.
    Full,
    Disk(String),
}

impl fmt::Display for UnrecordedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge => f.write_str("it is larger than an exchange may be"),
            Self::Compressed => {
                f.write_str("a body is compressed, and what cannot be read cannot be scrubbed")
            }
            Self::StillSecret => f.write_str("a secret was still in it after scrubbing"),
            Self::TooManySecrets => f.write_str("there are too many secrets to search for"),
            Self::NotForwarded(why) => write!(f, "it was not passed on: {why}"),
            Self::Full => f.write_str("the recording has reached its size limit"),
            Self::Disk(why) => write!(f, "it cannot be written: {why}"),
        }
    }
}

impl fmt::Display for UnrecordedExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "request {}, {}: {}", self.number, self.request, self.reason)
    }
}

impl RecordSummary {
    pub(super) fn add_unrecorded(&mut self, unrecorded: UnrecordedExchange) {
        self.unrecorded += 1;
        if self.reasons.len() < REASONS_MAX {
            self.reasons.push(unrecorded);
        }
    }
}

const REASONS_MAX: usize = 100;
