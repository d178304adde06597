//! Reads the paths git tracks from `.git/index` (versions 2 to 4) without starting git.
//!
//! Used to cover tracked files that an ignore rule matches, and to tell an index in which only the
//! cached stat data changed from one with other entries. It is never trusted about a file's bytes.
//! An unreadable index is treated as tracking nothing.

use std::os::fd::AsFd;

use crate::folder_record::ByteReader;
use crate::root_folder::read_small_file;

const INDEX_BYTES_MAX: u64 = 256 << 20;
/// Version 4 writes a path as the difference to the one before, so a small index may have paths of
/// any total length. An index of git has fewer bytes in its paths than this many times its own.
const PATH_BYTES_FACTOR: usize = 16;
/// Two times, device, inode, mode, user, group and size.
const STAT_BYTES: usize = 40;
const MODE_RANGE: std::ops::Range<usize> = 24..28;
const FLAG_EXTENDED: u16 = 0x4000;

/// Tracked paths, relative to the repository's root.
#[derive(Debug, Default)]
pub(crate) struct TrackedPaths {
    sorted: Vec<Box<[u8]>>,
}

impl TrackedPaths {
    /// Reads `index` in git's folder, and the shared index of a split index.
    pub(crate) fn load(git_folder: impl AsFd) -> Self {
        let Some(bytes) = read_small_file(&git_folder, b"index", INDEX_BYTES_MAX) else {
            return Self::default();
        };
        let Some(mut index) = parse_index(&bytes) else { return Self::default() };
        if let Some(shared) = index.shared.take() {
            // Paths deleted since then stay in the list: covering more than git tracks does no
            // harm.
            let name = format!("sharedindex.{shared}");
            let shared = read_small_file(&git_folder, name.as_bytes(), INDEX_BYTES_MAX)
                .and_then(|bytes| parse_index(&bytes));
            index.paths.extend(shared.map(|shared| shared.paths).unwrap_or_default());
        }
        index.paths.sort_unstable();
        Self { sorted: index.paths }
    }

    pub(crate) fn contains(&self, path: &[u8]) -> bool {
        self.sorted.binary_search_by(|tracked| tracked.as_ref().cmp(path)).is_ok()
    }

    /// Whether any path below `folder` is tracked.
    pub(crate) fn has_below(&self, folder: &[u8]) -> bool {
        let mut prefix = folder.to_vec();
        prefix.push(b'/');
        let first = self.sorted.partition_point(|tracked| tracked.as_ref() < prefix.as_slice());
        self.sorted.get(first).is_some_and(|tracked| tracked.starts_with(&prefix))
    }
}

/// Whether two indexes hold the same entries. Times, sizes and inodes are git's stat cache, which
/// any `git status` may rewrite, and are ignored.
pub(crate) fn is_same_index(one: &[u8], other: &[u8]) -> bool {
    let (Some(one), Some(other)) = (parse_index(one), parse_index(other)) else { return false };
    one.shared.is_none()
        && other.shared.is_none()
        && one.paths == other.paths
        && one.entries == other.entries
}

struct ParsedIndex {
    paths: Vec<Box<[u8]>>,
    /// Mode, object name and flags of each entry.
    entries: Vec<u8>,
    /// Hexadecimal name of the shared index that this one extends.
    shared: Option<String>,
}

/// `None` if this is not an index. Object names have 20 bytes, in newer repositories 32.
fn parse_index(bytes: &[u8]) -> Option<ParsedIndex> {
    parse_with_names(bytes, 20).or_else(|| parse_with_names(bytes, 32))
}

fn parse_with_names(bytes: &[u8], name_bytes: usize) -> Option<ParsedIndex> {
    let body = bytes.get(..bytes.len().checked_sub(name_bytes)?)?;
    let mut reader = ByteReader { rest: body.strip_prefix(b"DIRC")? };
    let version = take_big_endian(&mut reader)?;
    let count = take_big_endian(&mut reader)?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut paths: Vec<Box<[u8]>> = Vec::new();
    let mut entries: Vec<u8> = Vec::new();
    let mut previous: Vec<u8> = Vec::new();
    let mut path_bytes_left = bytes.len().saturating_mul(PATH_BYTES_FACTOR);
    for _ in 0..count {
        let start = reader.rest.len();
        let stat = reader.take(STAT_BYTES)?;
        entries.extend_from_slice(stat.get(MODE_RANGE)?);
        entries.extend_from_slice(reader.take(name_bytes)?);
        let flags = reader.take(2)?;
        entries.extend_from_slice(flags);
        if u16::from_be_bytes(flags.try_into().ok()?) & FLAG_EXTENDED != 0 {
            entries.extend_from_slice(reader.take(2)?);
        }
        if version == 4 {
            let cut = take_offset_varint(&mut reader)?;
            previous.truncate(previous.len().checked_sub(cut)?);
            previous.extend_from_slice(take_until_zero(&mut reader)?);
        } else {
            previous = take_until_zero(&mut reader)?.to_vec();
            // Entries are padded with one to eight zeros to a multiple of eight; the first is
            // already read.
            let taken = start - reader.rest.len();
            reader.take(taken.next_multiple_of(8) - taken)?;
        }
        path_bytes_left = path_bytes_left.checked_sub(previous.len())?;
        // In a split index, an entry without a name replaces one of the shared index.
        if !previous.is_empty() {
            paths.push(previous.as_slice().into());
        }
    }
    Some(ParsedIndex { paths, entries, shared: find_shared_index(&mut reader, name_bytes)? })
}

/// Looks for the split-index extension. The outer `None` means that an extension is malformed.
fn find_shared_index(reader: &mut ByteReader<'_>, name_bytes: usize) -> Option<Option<String>> {
    let mut shared = None;
    while !reader.rest.is_empty() {
        let signature = reader.take(4)?;
        let length = usize::try_from(take_big_endian(reader)?).ok()?;
        let body = reader.take(length)?;
        if signature == b"link" {
            let name = body.get(..name_bytes)?;
            shared = name.iter().any(|byte| *byte != 0).then(|| windlass_vocabulary::to_hex(name));
        }
    }
    Some(shared)
}

fn take_big_endian(reader: &mut ByteReader<'_>) -> Option<u32> {
    Some(u32::from_be_bytes(reader.take(4)?.try_into().ok()?))
}

fn take_until_zero<'a>(reader: &mut ByteReader<'a>) -> Option<&'a [u8]> {
    let end = reader.rest.iter().position(|byte| *byte == 0)?;
    let taken = reader.take(end)?;
    reader.take(1)?;
    Some(taken)
}

/// Git's offset varint: each continuation byte adds one before shifting.
fn take_offset_varint(reader: &mut ByteReader<'_>) -> Option<usize> {
    let mut byte = reader.take_u8()?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        byte = reader.take_u8()?;
        value = value.checked_add(1)?.checked_mul(128)? | usize::from(byte & 0x7f);
    }
    Some(value)
}
