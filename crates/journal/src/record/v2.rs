//! Format 2: `{"v":2,"len":61,"crc":"89abcdef","rec":{…}}`.
//!
//! `len` counts the bytes of `rec`; the checksum (CRC-32, eight hex digits) covers the version, the
//! length and `rec`. Both are checked before anything is parsed. `rec` is one of
//! `{"head":…}`, `{"claim":…}` and `{"seq":7,"at":1700000000000,"epoch":1,"safe":6,"items":[…]}`.
//! What is appended at once is one `rec`, so half of a group is never there.

use serde::{Deserialize, Serialize};

use super::{
    JournalHead, JournalLine, LineDamage, NewRecordItem, RecordGroup, RecordItem, WriterClaim,
};

#[derive(Serialize, Deserialize)]
struct HeadLine<T> {
    head: T,
}

#[derive(Serialize, Deserialize)]
struct ClaimLine<T> {
    claim: T,
}

/// Records to write as one line.
#[derive(Serialize)]
pub(crate) struct NewRecordGroup<'a> {
    /// The number of the first one.
    pub(crate) seq: u64,
    pub(crate) at: u64,
    /// The epoch of the claim.
    pub(crate) epoch: u64,
    /// The last record that is on disk, if the writer syncs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) safe: Option<u64>,
    pub(crate) items: &'a [NewRecordItem<'a>],
}

impl<'a> NewRecordGroup<'a> {
    /// For a journal that is created as a whole and has no writer yet.
    pub(crate) fn without_claim(seq: u64, at: u64, items: &'a [NewRecordItem<'a>]) -> Self {
        Self { seq, at, epoch: 0, safe: None, items }
    }
}

#[derive(Deserialize)]
struct DecodedGroupV2 {
    seq: u64,
    at: u64,
    epoch: u64,
    #[serde(default)]
    safe: Option<u64>,
    items: Vec<RecordItem>,
}

pub(crate) fn encode_head(head: &JournalHead) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&HeadLine { head }).map(|rec| frame(&rec))
}

pub(crate) fn encode_claim(claim: &WriterClaim) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(&ClaimLine { claim }).map(|rec| frame(&rec))
}

pub(crate) fn encode_group(group: &NewRecordGroup<'_>) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(group).map(|rec| frame(&rec))
}

/// A complete line with this record.
pub(crate) fn frame(rec: &[u8]) -> Vec<u8> {
    let head =
        format!(r#"{{"v":2,"len":{},"crc":"{:08x}","rec":"#, rec.len(), compute_checksum(rec));
    let mut line = Vec::with_capacity(head.len() + rec.len() + 2);
    line.extend_from_slice(head.as_bytes());
    line.extend_from_slice(rec);
    line.extend_from_slice(b"}\n");
    line
}

fn compute_checksum(rec: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(format!("2,{},", rec.len()).as_bytes());
    hasher.update(rec);
    hasher.finalize()
}

/// The record of a line without its line ending, if the checksum matches.
pub(crate) fn unframe(line: &[u8]) -> Option<&[u8]> {
    let rest = line.strip_prefix(br#"{"v":2"#)?;
    parse_frame(rest).filter(|(_, used)| *used == rest.len())?.0
}

/// Decodes what follows the version; returns the length, without the line ending.
pub(super) fn decode_v2(all: &[u8]) -> Result<(JournalLine, usize), LineDamage> {
    let (rec, used) = parse_frame(all).ok_or(LineDamage::NotARecord)?;
    let rec = rec.ok_or(LineDamage::Checksum)?;
    let line = if rec.starts_with(br#"{"head":"#) {
        serde_json::from_slice(rec).map(|HeadLine { head }| JournalLine::Head(head))
    } else if rec.starts_with(br#"{"claim":"#) {
        serde_json::from_slice(rec).map(|ClaimLine { claim }| JournalLine::Claim(claim))
    } else {
        serde_json::from_slice(rec).map(|DecodedGroupV2 { seq, at, epoch, safe, items }| {
            JournalLine::Group(RecordGroup { seq, at, epoch, safe, items })
        })
    };
    line.map(|line| (line, used)).map_err(|error| LineDamage::Unreadable(error.to_string()))
}

/// The bytes of `rec` if the checksum matches, and where the record ends.
fn parse_frame(all: &[u8]) -> Option<(Option<&[u8]>, usize)> {
    let rest = all.strip_prefix(br#","len":"#)?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (length, rest) = rest.split_at_checked(digits)?;
    let length: usize = core::str::from_utf8(length).ok()?.parse().ok()?;
    let (crc, rest) = rest.strip_prefix(br#","crc":""#)?.split_at_checked(8)?;
    let rest = rest.strip_prefix(br#"","rec":"#)?;
    let Some((rec, rest)) = rest.split_at_checked(length) else {
        return Some((None, all.len()));
    };
    // Compared as text: a flipped bit may turn a hex digit into its other case.
    let is_whole =
        rest.first() == Some(&b'}') && crc == format!("{:08x}", compute_checksum(rec)).as_bytes();
    Some((is_whole.then_some(rec), all.len() - rest.len() + 1))
}
