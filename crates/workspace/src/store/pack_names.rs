//! Contents that are not stored here because a held pack of git's has them: for each digest the name of
//! git's object. A table of them is one record of a segment.
//!
//! A content is found by the first half of its digest. Two contents that share it cannot be made on purpose,
//! and what is read is compared with the whole digest in any case.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::segment::{RecordHeader, StorageMethod};
use crate::digest::ContentDigest;
use crate::folder_record::ByteReader;
use crate::git_packs::ObjectName;

pub(super) type DigestHalf = [u8; 16];

/// One content and its object.
#[derive(Debug, Clone, Copy)]
pub(super) struct PackRow {
    pub(super) half: DigestHalf,
    name: ObjectName,
}

impl PackRow {
    pub(super) const BYTES: u64 = 16 + 20;
}

/// What is known of such contents.
#[derive(Debug, Default)]
pub(super) struct PackNames {
    names: HashMap<DigestHalf, ObjectName>,
    /// Not durable yet; the first of them are in a record that was appended.
    unsynced: Vec<PackRow>,
    appended: usize,
    /// Where tables stand: segment and offset.
    pub(super) tables: Vec<(u32, u32)>,
}

impl PackNames {
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn get(&self, digest: &ContentDigest) -> Option<ObjectName> {
        self.names.get(&half_of(digest)).copied()
    }

    pub(super) fn add(&mut self, row: PackRow) {
        self.names.insert(row.half, row.name);
        self.unsynced.push(row);
    }

    pub(super) fn remove(&mut self, digest: &ContentDigest) {
        self.names.remove(&half_of(digest));
    }

    /// What no record has yet, as one; none when there is nothing.
    pub(super) fn take_record(&mut self) -> Option<Vec<u8>> {
        let rows = self.unsynced.get(self.appended..).filter(|rows| !rows.is_empty())?;
        let record = encode_table(rows);
        self.appended = self.unsynced.len();
        record
    }

    pub(super) fn set_synced(&mut self) {
        self.unsynced.clear();
        self.appended = 0;
    }

    /// What was not durable is not known any more, nor are tables of this segment from `length` on.
    pub(super) fn drop_unsynced(&mut self, segment: u32, length: u64) {
        for row in self.unsynced.drain(..) {
            self.names.remove(&row.half);
        }
        self.appended = 0;
        self.tables.retain(|(number, offset)| *number != segment || u64::from(*offset) < length);
    }

    pub(super) fn add_table(&mut self, segment: u32, offset: u32, rows: &[PackRow]) {
        self.names.extend(rows.iter().map(|row| (row.half, row.name)));
        self.tables.push((segment, offset));
    }

    pub(super) fn list_names(&self) -> BTreeSet<ObjectName> {
        self.names.values().copied().collect()
    }

    /// Returns whether something was known that no pack has.
    pub(super) fn remove_missing(&mut self, missing: &BTreeSet<ObjectName>) -> bool {
        let before = self.names.len();
        self.names.retain(|_, name| !missing.contains(name));
        self.names.len() < before
    }

    pub(super) fn retain(&mut self, live: &HashSet<DigestHalf>) {
        self.names.retain(|half, _| live.contains(half));
    }
}

impl PackRow {
    pub(super) fn new(digest: &ContentDigest, name: ObjectName) -> Self {
        Self { half: half_of(digest), name }
    }
}

pub(super) fn half_of(digest: &ContentDigest) -> DigestHalf {
    digest.as_bytes().first_chunk().copied().unwrap_or_default()
}

fn encode_table(rows: &[PackRow]) -> Option<Vec<u8>> {
    let mut stored = Vec::with_capacity(rows.len() * PackRow::BYTES as usize);
    for row in rows {
        stored.extend_from_slice(&row.half);
        stored.extend_from_slice(&row.name);
    }
    let length = u32::try_from(stored.len()).ok()?;
    let header = RecordHeader {
        method: StorageMethod::PackNames,
        digest: ContentDigest::of(&stored),
        raw_length: length,
        stored_length: length,
        checksum: crc32fast::hash(&stored),
    };
    let mut record = header.encode();
    record.extend_from_slice(&stored);
    Some(record)
}

/// The rows of a table's stored bytes; none when they are not what was written.
pub(super) fn decode_table(header: &RecordHeader, stored: &[u8]) -> Option<Vec<PackRow>> {
    if ContentDigest::of(stored) != header.digest {
        return None;
    }
    let mut reader = ByteReader { rest: stored };
    let mut rows = Vec::new();
    while !reader.rest.is_empty() {
        let half = reader.take(16)?.try_into().ok()?;
        rows.push(PackRow { half, name: reader.take(20)?.try_into().ok()? });
    }
    Some(rows)
}
