//! Contents that are not stored because a held git pack has them: maps each digest to the name of
//! git's object. A segment record holds a table of them.
//!
//! Contents are looked up by the first half of their digest. Collisions of the half cannot be
//! constructed, and reads are verified against the whole digest anyway.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::segment::{RecordHeader, StorageMethod};
use crate::digest::ContentDigest;
use crate::folder_record::ByteReader;
use crate::git_packs::ObjectName;

pub(super) type DigestHalf = [u8; 16];

#[derive(Debug, Clone, Copy)]
pub(super) struct PackRow {
    pub(super) half: DigestHalf,
    name: ObjectName,
}

impl PackRow {
    pub(super) const BYTES: u64 = 16 + 20;
}

/// The known contents of this kind.
#[derive(Debug, Default)]
pub(super) struct PackNames {
    names: HashMap<DigestHalf, ObjectName>,
    /// Rows that are not durable yet; the first `appended` of them are in an appended record.
    unsynced: Vec<PackRow>,
    appended: usize,
    /// Segment and offset of each table.
    pub(super) tables: Vec<(u32, u32)>,
}

impl PackNames {
    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    pub(super) fn get(&self, digest: &ContentDigest) -> Option<ObjectName> {
        self.names.get(&to_half(digest)).copied()
    }

    pub(super) fn add(&mut self, row: PackRow) {
        self.names.insert(row.half, row.name);
        self.unsynced.push(row);
    }

    pub(super) fn remove(&mut self, digest: &ContentDigest) {
        self.names.remove(&to_half(digest));
    }

    /// The rows not yet appended, as one record; `None` when there are none.
    pub(super) fn take_record(&mut self) -> Option<Vec<u8>> {
        let rows = self.unsynced.get(self.appended..).filter(|rows| !rows.is_empty())?;
        let record = encode_table(rows);
        self.appended = self.unsynced.len();
        record
    }

    pub(super) fn set_synced(&mut self) {
        // With its memory: after a first look it has a row for every file.
        self.unsynced = Vec::new();
        self.appended = 0;
    }

    /// Forgets the rows that are not durable, and the tables of `segment` from `length` on.
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

    /// Removes contents that no pack has; returns whether there were any.
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
        Self { half: to_half(digest), name }
    }
}

pub(super) fn to_half(digest: &ContentDigest) -> DigestHalf {
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

/// Decodes the stored bytes of a table; `None` when they do not match their digest.
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
