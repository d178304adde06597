//! The format of a segment file: consecutive records, each with a header that has its own checksum,
//! so that a torn tail or a damaged record affects only that record.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::digest::ContentDigest;
use crate::folder_record::ByteReader;

const MAGIC: &[u8; 4] = b"WSR1";
/// Magic, method, digest, raw length, stored length, checksum of the stored bytes, checksum of the
/// header.
pub(crate) const HEADER_BYTES: usize = 4 + 1 + 32 + 4 + 4 + 4 + 4;

/// How the bytes of a record are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StorageMethod {
    Plain,
    Lz4,
    /// No content: everything before it in the segment is durable.
    SyncMark,
    /// A table of contents that git's packs have.
    PackNames,
    /// Only in packs: what changed in a folder record that the receiver has.
    FolderChanges,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordHeader {
    pub(crate) method: StorageMethod,
    pub(crate) digest: ContentDigest,
    pub(crate) raw_length: u32,
    pub(crate) stored_length: u32,
    pub(crate) checksum: u32,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ScannedRecord {
    pub(crate) header: RecordHeader,
    pub(crate) offset: u32,
}

/// Result of scanning a segment file.
#[derive(Debug, Default)]
pub(crate) struct SegmentScan {
    pub(crate) records: Vec<ScannedRecord>,
    /// Length of the file when it was scanned.
    pub(crate) length: u64,
    /// The end of the last whole record: another process may still be writing what follows.
    pub(crate) end: u64,
    /// No damage and no trailing bytes, so records may be appended.
    pub(crate) is_whole: bool,
    /// Records at the end of the segment are not followed by a sync mark.
    pub(crate) has_unmarked_tail: bool,
}

/// Returns whichever is smaller, the compressed or the plain bytes.
pub(crate) fn compress(bytes: &[u8]) -> (StorageMethod, Vec<u8>) {
    let compressed = lz4_flex::block::compress(bytes);
    match compressed.len() < bytes.len() {
        true => (StorageMethod::Lz4, compressed),
        false => (StorageMethod::Plain, bytes.to_vec()),
    }
}

/// `None` when the stored bytes do not decompress to `raw_length` bytes.
pub(crate) fn decompress(
    method: StorageMethod,
    stored: &[u8],
    raw_length: usize,
) -> Option<Vec<u8>> {
    let bytes = match method {
        StorageMethod::Plain => stored.to_vec(),
        StorageMethod::Lz4 => lz4_flex::block::decompress(stored, raw_length).ok()?,
        StorageMethod::SyncMark | StorageMethod::PackNames | StorageMethod::FolderChanges => {
            return None;
        }
    };
    (bytes.len() == raw_length).then_some(bytes)
}

/// Header and stored bytes, as used in segments and packs.
pub(crate) fn encode_record(digest: ContentDigest, bytes: &[u8]) -> Option<Vec<u8>> {
    let (method, stored) = compress(bytes);
    encode_stored(method, digest, bytes.len(), &stored)
}

pub(crate) fn encode_stored(
    method: StorageMethod,
    digest: ContentDigest,
    raw_length: usize,
    stored: &[u8],
) -> Option<Vec<u8>> {
    let header = RecordHeader {
        method,
        digest,
        raw_length: u32::try_from(raw_length).ok()?,
        stored_length: u32::try_from(stored.len()).ok()?,
        checksum: crc32fast::hash(stored),
    };
    let mut record = header.encode();
    record.extend_from_slice(stored);
    Some(record)
}

pub(crate) fn encode_mark() -> Vec<u8> {
    RecordHeader {
        method: StorageMethod::SyncMark,
        digest: ContentDigest::from_bytes([0; 32]),
        raw_length: 0,
        stored_length: 0,
        checksum: 0,
    }
    .encode()
}

impl RecordHeader {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEADER_BYTES + self.stored_length as usize);
        bytes.extend_from_slice(MAGIC);
        bytes.push(match self.method {
            StorageMethod::Plain => 0,
            StorageMethod::Lz4 => 1,
            StorageMethod::SyncMark => 2,
            StorageMethod::PackNames => 3,
            StorageMethod::FolderChanges => 4,
        });
        bytes.extend_from_slice(self.digest.as_bytes());
        bytes.extend_from_slice(&self.raw_length.to_le_bytes());
        bytes.extend_from_slice(&self.stored_length.to_le_bytes());
        bytes.extend_from_slice(&self.checksum.to_le_bytes());
        let checksum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let checked = bytes.get(..HEADER_BYTES - 4)?;
        let mut reader = ByteReader { rest: bytes.get(..HEADER_BYTES)?.strip_prefix(MAGIC)? };
        let header = Self {
            method: match reader.take_u8()? {
                0 => StorageMethod::Plain,
                1 => StorageMethod::Lz4,
                2 => StorageMethod::SyncMark,
                3 => StorageMethod::PackNames,
                4 => StorageMethod::FolderChanges,
                _ => return None,
            },
            digest: reader.take_digest()?,
            raw_length: reader.take_u32()?,
            stored_length: reader.take_u32()?,
            checksum: reader.take_u32()?,
        };
        (reader.take_u32()? == crc32fast::hash(checked)).then_some(header)
    }
}

/// Scans the headers of a segment from `start` on. Stored bytes are read and checked only after the
/// last sync mark.
pub(crate) fn scan_segment(file: &File, start: u64) -> io::Result<SegmentScan> {
    let length = file.metadata()?.len();
    let mut scan = SegmentScan { length, is_whole: true, ..SegmentScan::default() };
    let mut offset = start;
    let mut marked = 0;
    let mut header_bytes = [0; HEADER_BYTES];
    while offset + HEADER_BYTES as u64 <= length {
        file.read_exact_at(&mut header_bytes, offset)?;
        let header = RecordHeader::decode(&header_bytes);
        let end =
            |header: &RecordHeader| offset + HEADER_BYTES as u64 + u64::from(header.stored_length);
        match header.filter(|header| end(header) <= length) {
            Some(header) => {
                if header.method == StorageMethod::SyncMark {
                    marked = scan.records.len();
                } else if let Ok(offset) = u32::try_from(offset) {
                    scan.records.push(ScannedRecord { header, offset });
                }
                offset = end(&header);
            }
            None => {
                scan.is_whole = false;
                match find_next_record(file, offset + 1, length)? {
                    Some(next) => offset = next,
                    None => break,
                }
            }
        }
    }
    scan.end = offset;
    scan.is_whole &= offset == length;
    scan.has_unmarked_tail = marked < scan.records.len();
    let mut tail = scan.records.split_off(marked);
    let unmarked = tail.len();
    tail.retain(|record| read_stored(file, record.offset, &record.header).is_some());
    scan.is_whole &= tail.len() == unmarked;
    scan.records.append(&mut tail);
    Ok(scan)
}

/// Reads the stored bytes of a record; `None` when their checksum is wrong.
pub(crate) fn read_stored(file: &File, offset: u32, header: &RecordHeader) -> Option<Vec<u8>> {
    let mut stored = vec![0; header.stored_length as usize];
    file.read_exact_at(&mut stored, u64::from(offset) + HEADER_BYTES as u64).ok()?;
    (crc32fast::hash(&stored) == header.checksum).then_some(stored)
}

/// Whether every process locks this segment while it may append to it; such a segment begins with a
/// mark. Earlier versions had no such lock.
pub(crate) fn has_writer_lock(file: &File) -> bool {
    read_header(file, 0).is_some_and(|header| header.method == StorageMethod::SyncMark)
}

pub(crate) fn read_header(file: &File, offset: u32) -> Option<RecordHeader> {
    let mut bytes = [0; HEADER_BYTES];
    file.read_exact_at(&mut bytes, u64::from(offset)).ok()?;
    RecordHeader::decode(&bytes)
}

/// After damage, finds the next valid header. Contents are verified when they are read, so bytes
/// that only look like a header do no harm.
fn find_next_record(file: &File, from: u64, length: u64) -> io::Result<Option<u64>> {
    const WINDOW: usize = 1 << 20;
    let mut start = from;
    while start + (HEADER_BYTES as u64) <= length {
        let take = WINDOW.min(usize::try_from(length - start).unwrap_or(WINDOW));
        let mut bytes = vec![0; take];
        file.read_exact_at(&mut bytes, start)?;
        for (index, window) in bytes.windows(HEADER_BYTES).enumerate() {
            if window.starts_with(MAGIC) && RecordHeader::decode(window).is_some() {
                return Ok(Some(start + index as u64));
            }
        }
        // Windows overlap, so that a header across their border is found.
        start += (take.saturating_sub(HEADER_BYTES) + 1) as u64;
    }
    Ok(None)
}
