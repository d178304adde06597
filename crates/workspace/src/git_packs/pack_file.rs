//! One pack and its index (version 2, 20-byte names).

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use flate2::read::ZlibDecoder;

use super::ObjectName;
use super::delta::apply_delta;
use crate::folder_record::ByteReader;

const INDEX_MAGIC: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
const FAN_OUT: usize = 256;
const NAMES_START: u64 = 8 + 4 * FAN_OUT as u64;
const NAME_BYTES: u64 = 20;
const HEAD_BYTES_MAX: usize = 32;
/// Limit on names with the same first byte; a bucket this large means tens of millions of objects.
const BUCKET_NAMES_MAX: u64 = 1 << 20;
/// Git's own limit is 4,095.
const CHAIN_MAX: usize = 4_096;
/// Limit on the base and the deltas of a content that is not stored because the pack has it.
const CHAIN_BYTES_MAX: u64 = 64 << 20;
/// Limit on each version that a chain passes through. Git makes no deltas of larger files unless it
/// is configured to.
const VERSION_BYTES_MAX: u64 = 512 << 20;
/// Write permission bits of user, group and others.
const WRITABLE: u32 = 0o222;

#[derive(Debug)]
pub(super) struct PackFile {
    path: PathBuf,
    pack: File,
    index: File,
    /// Cumulative: the number of names whose first byte is at most the index.
    fan_out: Vec<u32>,
    stamp: PackStamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PackStamp {
    bytes: u64,
    index_bytes: u64,
    modified: (i64, i64),
    is_writable: bool,
}

enum PackEntry {
    Blob,
    /// `base` is the offset of the base object.
    Delta {
        base: u64,
    },
}

struct EntryHead {
    entry: PackEntry,
    /// Inflated size of the object or of the delta.
    size: u64,
    /// Offset of the compressed bytes.
    data: u64,
}

impl PackFile {
    /// `None` for anything that is not a sound pack with its index.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let pack = File::open(path).ok()?;
        let index = File::open(path.with_extension("idx")).ok()?;
        for file in [&pack, &index] {
            file.metadata().ok().filter(std::fs::Metadata::is_file)?;
        }
        let stamp = PackStamp::of(&pack, &index).ok()?;
        let mut head = [0; 8];
        index.read_exact_at(&mut head, 0).ok()?;
        let mut table = vec![0; 4 * FAN_OUT];
        index.read_exact_at(&mut table, 8).ok()?;
        let fan_out: Vec<u32> = table.chunks_exact(4).filter_map(read_u32).collect();
        // The index repeats the pack's trailing checksum, so a truncated or overwritten pack is
        // noticed.
        let [mut of_pack, mut named] = [[0; 20]; 2];
        pack.read_exact_at(&mut of_pack, stamp.bytes.checked_sub(20)?).ok()?;
        index.read_exact_at(&mut named, stamp.index_bytes.checked_sub(40)?).ok()?;
        let is_sound = head == INDEX_MAGIC && of_pack == named && fan_out.is_sorted();
        is_sound.then(|| Self { path: path.to_owned(), pack, index, fan_out, stamp })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn is_unchanged(&self) -> bool {
        PackStamp::of(&self.pack, &self.index).is_ok_and(|stamp| stamp == self.stamp)
    }

    /// Git's packs are read-only. One that is not, as after `chmod -R u+w .`, is still read, but
    /// may be overwritten in place.
    pub(super) fn is_writable(&self) -> bool {
        self.stamp.is_writable
    }

    /// Whether the repository still has this pack too.
    pub(super) fn is_shared(&self) -> bool {
        self.pack.metadata().is_ok_and(|found| found.nlink() > 1)
    }

    /// The offset of the object in the pack.
    pub(super) fn find(&self, name: &ObjectName) -> Option<u64> {
        let (first, names) = self.read_bucket(name[0])?;
        let place = names.binary_search_by(|other| other.cmp(name)).ok()?;
        self.read_offset(first + place as u64)
    }

    /// The names that this pack does not have.
    pub(super) fn list_missing(&self, names: BTreeSet<ObjectName>) -> BTreeSet<ObjectName> {
        let mut bucket: Option<(u8, Vec<ObjectName>)> = None;
        let is_missing = |name: &ObjectName| {
            let is_read = bucket.as_ref().is_some_and(|(byte, _)| *byte == name[0]);
            if !is_read {
                let found = self.read_bucket(name[0]).map(|(_, names)| names);
                bucket = Some((name[0], found.unwrap_or_default()));
            }
            let known = bucket.as_ref().map_or(&[][..], |(_, names)| names);
            known.binary_search_by(|other| other.cmp(name)).is_err()
        };
        names.into_iter().filter(is_missing).collect()
    }

    /// The sorted names that begin with `byte`, and the index of the first of them.
    fn read_bucket(&self, byte: u8) -> Option<(u64, Vec<ObjectName>)> {
        let end = u64::from(*self.fan_out.get(usize::from(byte))?);
        let first = match byte {
            0 => 0,
            _ => u64::from(*self.fan_out.get(usize::from(byte) - 1)?),
        };
        let count = end.checked_sub(first).filter(|count| *count <= BUCKET_NAMES_MAX)?;
        let mut bytes = vec![0; usize::try_from(count * NAME_BYTES).ok()?];
        self.index.read_exact_at(&mut bytes, NAMES_START + first * NAME_BYTES).ok()?;
        Some((first, bytes.chunks_exact(20).filter_map(|name| name.try_into().ok()).collect()))
    }

    /// The names are followed by checksums, then 4-byte offsets, then the offsets that need eight
    /// bytes.
    fn read_offset(&self, number: u64) -> Option<u64> {
        let count = u64::from(*self.fan_out.last()?);
        let offsets = NAMES_START + count * (NAME_BYTES + 4);
        let short = self.read_u32_at(offsets + number * 4)?;
        if short & 0x8000_0000 == 0 {
            return Some(u64::from(short));
        }
        let place = offsets + count * 4 + u64::from(short & 0x7fff_ffff) * 8;
        let high = self.read_u32_at(place)?;
        Some(u64::from(high) << 32 | u64::from(self.read_u32_at(place + 4)?))
    }

    fn read_u32_at(&self, place: u64) -> Option<u32> {
        let mut bytes = [0; 4];
        self.index.read_exact_at(&mut bytes, place).ok()?;
        Some(u32::from_be_bytes(bytes))
    }

    /// Whether there is a blob at offset `start` that `read_blob` can read within its limits. Reads
    /// only the heads of its entries.
    pub(super) fn has_blob_within_limits(&self, start: u64) -> bool {
        let chain = self.list_chain(start).unwrap_or_default();
        let bytes: u64 = chain.iter().map(|head| head.size).sum();
        !chain.is_empty() && bytes <= CHAIN_BYTES_MAX
    }

    /// The contents of the blob at offset `start`.
    pub(super) fn read_blob(&self, start: u64, limit: u64) -> Option<Vec<u8>> {
        let chain = self.list_chain(start)?;
        let (base, deltas) = chain.split_last()?;
        let mut bytes = self.inflate(base)?;
        for delta in deltas.iter().rev() {
            bytes = apply_delta(&bytes, &self.inflate(delta)?, VERSION_BYTES_MAX)?;
        }
        (bytes.len() as u64 <= limit).then_some(bytes)
    }

    /// The deltas from the entry at offset `start` on, then the blob that they are based on.
    fn list_chain(&self, start: u64) -> Option<Vec<EntryHead>> {
        let mut chain = Vec::new();
        let mut start = start;
        while chain.len() <= CHAIN_MAX {
            let head = self.read_head(start).filter(|head| head.size <= VERSION_BYTES_MAX)?;
            let base = match head.entry {
                PackEntry::Blob => None,
                PackEntry::Delta { base } => Some(base),
            };
            chain.push(head);
            let Some(base) = base else { return Some(chain) };
            start = base;
        }
        None
    }

    fn read_head(&self, start: u64) -> Option<EntryHead> {
        // The longest head has two numbers of ten bytes, or a number and a name.
        let mut buffer = [0; HEAD_BYTES_MAX];
        let read = self.pack.read_at(&mut buffer, start).ok()?;
        let mut reader = ByteReader { rest: buffer.get(..read)? };
        let first = reader.take_u8()?;
        let mut size = u64::from(first & 0x0f);
        let mut byte = first;
        let mut shift = 4;
        while byte & 0x80 != 0 {
            byte = reader.take_u8().filter(|_| shift < 57)?;
            size |= u64::from(byte & 0x7f) << shift;
            shift += 7;
        }
        let entry = match first >> 4 & 7 {
            3 => PackEntry::Blob,
            6 => {
                let distance = take_distance(&mut reader)?;
                PackEntry::Delta { base: start.checked_sub(distance).filter(|_| distance > 0)? }
            }
            7 => {
                let name: ObjectName = reader.take(NAME_BYTES as usize)?.try_into().ok()?;
                PackEntry::Delta { base: self.find(&name)? }
            }
            _ => return None,
        };
        let length = read - reader.rest.len();
        Some(EntryHead { entry, size, data: start + length as u64 })
    }

    fn inflate(&self, head: &EntryHead) -> Option<Vec<u8>> {
        let packed = io::BufReader::new(ReadAt { file: &self.pack, place: head.data });
        let mut bytes = Vec::new();
        ZlibDecoder::new(packed).take(head.size + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 == head.size).then_some(bytes)
    }
}

impl PackStamp {
    fn of(pack: &File, index: &File) -> io::Result<Self> {
        let found = pack.metadata()?;
        let found_index = index.metadata()?;
        Ok(Self {
            bytes: found.len(),
            index_bytes: found_index.len(),
            modified: (found.mtime(), found.mtime_nsec()),
            is_writable: (found.mode() | found_index.mode()) & WRITABLE != 0,
        })
    }
}

fn read_u32(bytes: &[u8]) -> Option<u32> {
    bytes.try_into().ok().map(u32::from_be_bytes)
}

/// Sequential reads of a file from an offset.
struct ReadAt<'a> {
    file: &'a File,
    place: u64,
}

impl Read for ReadAt<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.place)?;
        self.place += count as u64;
        Ok(count)
    }
}

/// Git's offset varint, as in `git_index::take_offset_varint`.
fn take_distance(reader: &mut ByteReader<'_>) -> Option<u64> {
    let mut byte = reader.take_u8()?;
    let mut value = u64::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = reader.take_u8()?;
        value = value.checked_add(1)?.checked_mul(128)? | u64::from(byte & 0x7f);
    }
    Some(value)
}
