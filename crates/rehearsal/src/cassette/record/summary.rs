//! What came of a recording.

use std::fmt;

/// What came of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordSummary {
    pub exchanges: usize,
    /// Bytes written.
    pub bytes: u64,
    /// Values replaced by placeholders or stand-ins.
    pub scrubbed: usize,
    /// Exchanges that passed and were not written down.
    pub unrecorded: usize,
    /// The first hundred of those, and why.
    pub reasons: Vec<UnrecordedExchange>,
}

/// An exchange that was not written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnrecordedExchange {
    /// Counts all requests; the first is 1.
    pub number: usize,
    /// For example `POST /v1/messages`, scrubbed.
    pub request: String,
    pub reason: UnrecordedReason,
}

/// Why an exchange was not written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnrecordedReason {
    /// It was larger than an exchange may be.
    TooLarge,
    /// A body was compressed, and what cannot be read cannot be scrubbed.
    Compressed,
    /// After scrubbing there was still a secret in it.
    StillSecret,
    /// More secrets had been seen than can be looked for.
    TooManySecrets,
    /// The upstream was not asked: it cannot be reached, or the request cannot be passed on.
    NotForwarded(String),
    /// The recording is as large as it may be.
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
            Self::TooManySecrets => f.write_str("more secrets were seen than can be looked for"),
            Self::NotForwarded(why) => write!(f, "it was not passed on: {why}"),
            Self::Full => f.write_str("the recording is as large as it may be"),
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
