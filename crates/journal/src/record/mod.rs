//! The on-disk types, one file per version of the format.
//!
//! A format is a promise: a version may only gain fields that older readers can skip; anything else
//! is a new file beside it. `docs/wire/journal.md` describes the formats.

mod claim_holder;
mod describe_note;
mod note;
mod v1;
mod v2;

use core::fmt;
use serde::{Deserialize, Serialize};
use windlass_engine::Event;
use windlass_vocabulary::{MicroUsd, SessionId};

pub use claim_holder::ClaimHolder;
pub use note::{BilledRow, JournalNote, RunEndedNote, ToolIntent};

/// The newest format; it is the one that is written.
pub(crate) const FORMAT_VERSION: u64 = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalRecord {
    /// Its number, counted from 1.
    pub seq: u64,
    /// In milliseconds since 1970, for display. The order depends on `seq` only.
    pub at: u64,
    pub item: RecordItem,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordItem {
    /// An event; the state is the result of all events and nothing else.
    Event(Event),
    /// Derived from events, and stored so that it can be read without a replay.
    Note(JournalNote),
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NewRecordItem<'a> {
    Event(&'a Event),
    Note(&'a JournalNote),
}

/// Describes the session. First entry of each file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalHead {
    /// The session id, if it was known when the journal was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// In milliseconds since 1970.
    #[serde(default)]
    pub created: u64,
    /// The project's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The git branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The session this one was forked from, and the last record copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<(SessionId, u64)>,
    /// How often the conversation was rewound before this file.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rewound: u64,
    /// What was spent on rewound parts before this file.
    #[serde(default, skip_serializing_if = "is_free")]
    pub spent: MicroUsd,
    /// The number of this file in the journal, counted from 1.
    #[serde(default)]
    pub segment: u64,
    /// The last record that counts in the files before.
    #[serde(default)]
    pub after: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_free(cost: &MicroUsd) -> bool {
    cost.0 == 0
}

/// A process became the writer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriterClaim {
    /// Increases with every claim. Records of an earlier epoch that come after it do not count.
    pub epoch: u64,
    pub holder: ClaimHolder,
    /// In milliseconds since 1970.
    pub at: u64,
}

/// What is wrong with an invalid line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineDamage {
    /// It does not start like a record.
    NotARecord,
    /// Its bytes do not match the checksum.
    Checksum,
    /// It is intact, but cannot be parsed: the parser's message.
    Unreadable(String),
    /// It is longer than any record can be.
    TooLong,
    /// Records before it are missing.
    Gap {
        /// The expected number.
        expected: u64,
        /// The actual number.
        found: u64,
    },
    /// Its number was used before.
    Repeated(u64),
    /// Written by a process that had lost its claim.
    Fenced(u64),
    /// Written by a later version.
    Newer(u64),
}

impl fmt::Display for LineDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotARecord => f.write_str("it does not begin like a record"),
            Self::Checksum => f.write_str("its checksum does not match"),
            Self::Unreadable(words) => write!(f, "it cannot be read ({words})"),
            Self::TooLong => f.write_str("it is longer than any record"),
            Self::Gap { expected, found } => {
                write!(f, "record {expected} should stand here, not {found}")
            }
            Self::Repeated(seq) => write!(f, "record {seq} was there before"),
            Self::Fenced(epoch) => write!(f, "its claim {epoch} was no longer valid"),
            Self::Newer(version) => write!(f, "it has the newer format {version}"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JournalLine {
    Head(JournalHead),
    Claim(WriterClaim),
    Group(RecordGroup),
}

/// Records that were written together: all of them are stored or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordGroup {
    /// The number of the first one.
    pub(crate) seq: u64,
    pub(crate) at: u64,
    /// The claim's epoch; zero in format 1.
    pub(crate) epoch: u64,
    /// The last record that was on disk when these were written, if the writer syncs.
    pub(crate) safe: Option<u64>,
    pub(crate) items: Vec<RecordItem>,
}

pub(crate) use v2::{NewRecordGroup, encode_claim, encode_group, encode_head, frame, unframe};

/// Decodes one record that starts here. Returns its length; a record of format 1 takes all bytes.
pub(crate) fn decode_line(bytes: &[u8]) -> Result<(JournalLine, usize), LineDamage> {
    let rest = bytes.strip_prefix(RECORD_PREFIX).ok_or(LineDamage::NotARecord)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (version, rest) = rest.split_at_checked(digits).ok_or(LineDamage::NotARecord)?;
    let version: Option<u64> = core::str::from_utf8(version).ok().and_then(|v| v.parse().ok());
    let before = bytes.len() - rest.len();
    match version {
        Some(1) => Ok((v1::decode_v1(rest)?, bytes.len())),
        Some(2) => v2::decode_v2(rest).map(|(line, used)| (line, before + used)),
        Some(newer @ 3..) if rest.first() == Some(&b',') => {
            // One flipped bit in the version must not make a whole session unreadable.
            match v1::decode_v1(rest).is_ok() || v2::decode_v2(rest).is_ok() {
                true => Err(LineDamage::Checksum),
                false => Err(LineDamage::Newer(newer)),
            }
        }
        _ => Err(LineDamage::NotARecord),
    }
}

/// The prefix of records in every version. It cannot occur inside one, because its quotes would be
/// escaped there.
pub(crate) const RECORD_PREFIX: &[u8] = br#"{"v":"#;
