//! The on-disk types, one file per version of the format.
//!
//! A format is a promise: a version may gain what older readers can skip, anything else is a new
//! file beside it. `docs/wire/journal.md` describes them in words.

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

/// The newest format, the one that is written.
pub const FORMAT_VERSION: u64 = 2;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalRecord {
    /// Its place, counted from 1.
    pub seq: u64,
    /// When it was written: milliseconds since 1970, for people. Order is by `seq` alone.
    pub at: u64,
    pub item: RecordItem,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordItem {
    /// Something happened: state is the fold of these and nothing else.
    Event(Event),
    /// Something that follows from events, kept so that it can be read without folding.
    Note(JournalNote),
}

#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NewRecordItem<'a> {
    Event(&'a Event),
    Note(&'a JournalNote),
}

/// What a journal is about. Stands first in each of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalHead {
    /// The session, if it was known when the journal began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// When it began: milliseconds since 1970.
    #[serde(default)]
    pub created: u64,
    /// The project's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The branch the project was on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The session this one was forked from, and the last record taken over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<(SessionId, u64)>,
    /// How often the conversation went back to an earlier record until here.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rewound: u64,
    /// What was spent on what the conversation went back from until here.
    #[serde(default, skip_serializing_if = "is_free")]
    pub spent: MicroUsd,
    /// Which file of the journal this is, counted from 1.
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
    /// Grows with every claim. Records of an earlier one that follow it do not count.
    pub epoch: u64,
    pub holder: ClaimHolder,
    /// When: milliseconds since 1970.
    pub at: u64,
}

/// A line that is no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineDamage {
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
    /// It was there before, or another one of its number was.
    Repeated(u64),
    /// It was written by a process that had lost its claim.
    Fenced(u64),
    /// It was written by a later version.
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

/// Records that were written together: all of them are there or none is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordGroup {
    /// The number of the first.
    pub(crate) seq: u64,
    pub(crate) at: u64,
    /// The claim they were written under; zero in format 1.
    pub(crate) epoch: u64,
    /// The last record that was on the disk when these were written, if the writer waits for it.
    pub(crate) safe: Option<u64>,
    pub(crate) items: Vec<RecordItem>,
}

pub(crate) use v2::{NewRecordGroup, encode_claim, encode_group, encode_head, frame, unframe};

/// Reads one record that begins here. Says how many bytes it took; a record of format 1 takes all.
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
            // One flipped bit must not make a whole session unreadable.
            match v1::decode_v1(rest).is_ok() || v2::decode_v2(rest).is_ok() {
                true => Err(LineDamage::Checksum),
                false => Err(LineDamage::Newer(newer)),
            }
        }
        _ => Err(LineDamage::NotARecord),
    }
}

/// How every record of every version begins. It cannot stand inside one: there its quotes would
/// be escaped.
pub(crate) const RECORD_PREFIX: &[u8] = br#"{"v":"#;
