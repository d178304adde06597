//! Format 1, read but no longer written:
//! `{"v":1,"crc":"89abcdef","seq":7,"at":1700000000000,"event":…}`.
//!
//! The checksum (CRC-32, eight hex digits) covers every byte after its own field, so it is checked
//! before anything is parsed. Fields may be added after `event`; readers skip them.

use serde::Deserialize;
use windlass_engine::Event;

use super::{JournalLine, LineDamage, RecordGroup, RecordItem};

#[derive(Deserialize)]
struct DecodedRecordV1 {
    seq: u64,
    at: u64,
    event: Event,
}

/// Decodes what follows the version.
pub(super) fn decode_v1(rest: &[u8]) -> Result<JournalLine, LineDamage> {
    let rest = rest.strip_prefix(br#","crc":""#).ok_or(LineDamage::NotARecord)?;
    let (crc, rest) = rest.split_at_checked(8).ok_or(LineDamage::NotARecord)?;
    let fields = rest.strip_prefix(br#"","#).ok_or(LineDamage::NotARecord)?;
    let crc = core::str::from_utf8(crc).ok().and_then(|crc| u32::from_str_radix(crc, 16).ok());
    if crc != Some(crc32fast::hash(fields)) {
        return Err(LineDamage::Checksum);
    }
    let mut object = Vec::with_capacity(fields.len() + 1);
    object.push(b'{');
    object.extend_from_slice(fields);
    let DecodedRecordV1 { seq, at, event } = serde_json::from_slice(&object)
        .map_err(|error| LineDamage::Unreadable(error.to_string()))?;
    Ok(JournalLine::Group(RecordGroup {
        seq,
        at,
        epoch: 0,
        safe: None,
        items: vec![RecordItem::Event(event)],
    }))
}
