//! The on-disk types, one file per version of the format.
//!
//! A format is a promise: `v1` may gain what older readers can skip, anything else is a new file
//! beside it.

mod v1;

use core::fmt;
use windlass_engine::Event;

/// The newest format, the one that is written.
pub const VERSION: u64 = 1;

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its place, counted from 1.
    pub seq: u64,
    /// When it was written: milliseconds since 1970, for people. Order is by `seq` alone.
    pub at: u64,
    /// What happened.
    pub event: Event,
}

/// A line that is no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Damage {
    /// It does not begin like a record.
    NotARecord,
    /// Its bytes are not those that were written.
    Checksum,
    /// It is as it was written, but says nothing we know: the words of the parser.
    Unreadable(String),
    /// It is longer than any record.
    TooLong,
    /// Records before it are missing.
    Gap {
        /// The number it should have.
        expected: u64,
        /// The number it has.
        found: u64,
    },
    /// It was written by a later version.
    Newer(u64),
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotARecord => f.write_str("it does not begin like a record"),
            Self::Checksum => f.write_str("its checksum does not match"),
            Self::Unreadable(words) => write!(f, "it cannot be read ({words})"),
            Self::TooLong => f.write_str("it is longer than any record"),
            Self::Gap { expected, found } => {
                write!(f, "record {expected} should stand here, not {found}")
            }
            Self::Newer(version) => write!(f, "it has the newer format {version}"),
        }
    }
}

/// The line of a record, its end included.
pub(crate) fn encode(seq: u64, at: u64, event: &Event) -> Result<String, serde_json::Error> {
    v1::encode(seq, at, event)
}

/// The record of a line, without its end.
pub(crate) fn decode(line: &[u8]) -> Result<Record, Damage> {
    let rest = line.strip_prefix(br#"{"v":"#).ok_or(Damage::NotARecord)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (version, rest) = rest.split_at_checked(digits).ok_or(Damage::NotARecord)?;
    let version: Option<u64> = core::str::from_utf8(version).ok().and_then(|v| v.parse().ok());
    match version {
        Some(1) => v1::decode(rest),
        Some(newer @ 2..) => Err(Damage::Newer(newer)),
        Some(0) | None => Err(Damage::NotARecord),
    }
}
