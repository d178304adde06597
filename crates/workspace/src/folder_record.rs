//! The encoded record of one folder: its entries by name. Its digest covers the whole subtree, so
//! equal folders are recognised without being read.

use crate::digest::ContentDigest;
use crate::path_image::{PathImage, UncoveredReason, UncoveredStamp};
use crate::relative_path::is_plain_name;

const MAGIC: &[u8; 4] = b"WFR1";
const KIND_FILE: u8 = 1;
const KIND_IGNORED_FILE: u8 = 2;
const KIND_LINK: u8 = 3;
const KIND_FOLDER: u8 = 4;
const KIND_UNCOVERED: u8 = 5;

/// Permission bits that are stored. Never setuid, setgid or sticky.
pub(crate) const MODE_MASK: u32 = 0o777;

/// Entries are sorted by name, without duplicates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct FolderRecord {
    pub(crate) entries: Vec<FolderEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FolderEntry {
    pub(crate) name: Box<[u8]>,
    pub(crate) image: EntryImage,
}

/// Like [`PathImage`], but a folder also has the digest of its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EntryImage {
    File { content: ContentDigest, size: u64, mode: u32, is_ignored: bool },
    Link { target: Box<[u8]> },
    Folder { record: ContentDigest, mode: u32 },
    Uncovered { reason: UncoveredReason, stamp: UncoveredStamp },
}

impl EntryImage {
    pub(crate) fn to_path_image(&self) -> PathImage {
        match self {
            Self::File { content, size, mode, is_ignored } => PathImage::File {
                content: *content,
                size: *size,
                mode: *mode,
                is_ignored: *is_ignored,
            },
            Self::Link { target } => PathImage::Link { target: target.to_vec() },
            Self::Folder { mode, record: _ } => PathImage::Folder { mode: *mode },
            Self::Uncovered { reason, stamp } => {
                PathImage::Uncovered { reason: *reason, stamp: *stamp }
            }
        }
    }

    /// The digest of a folder's record; `None` for everything else.
    pub(crate) fn folder_record(&self) -> Option<ContentDigest> {
        match self {
            Self::Folder { record, .. } => Some(*record),
            Self::File { .. } | Self::Link { .. } | Self::Uncovered { .. } => None,
        }
    }
}

impl FolderRecord {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for entry in &self.entries {
            entry.encode_to(&mut bytes);
        }
        bytes
    }

    /// The record of a sub-folder.
    pub(crate) fn find_folder(&self, name: &[u8]) -> Option<ContentDigest> {
        let found = self.entries.binary_search_by(|entry| entry.name.as_ref().cmp(name)).ok()?;
        self.entries.get(found)?.image.folder_record()
    }

    /// Returns `None` for anything `encode` does not write: names unsorted or not plain, unknown
    /// kinds, trailing bytes.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = ByteReader { rest: bytes.strip_prefix(MAGIC)? };
        let mut entries: Vec<FolderEntry> = Vec::new();
        while !reader.rest.is_empty() {
            let entry = FolderEntry::decode_from(&mut reader)?;
            if entries.last().is_some_and(|last| last.name >= entry.name) {
                return None;
            }
            entries.push(entry);
        }
        Some(Self { entries })
    }
}

impl FolderEntry {
    pub(crate) fn encode_to(&self, bytes: &mut Vec<u8>) {
        let kind = match &self.image {
            EntryImage::File { is_ignored: false, .. } => KIND_FILE,
            EntryImage::File { is_ignored: true, .. } => KIND_IGNORED_FILE,
            EntryImage::Link { .. } => KIND_LINK,
            EntryImage::Folder { .. } => KIND_FOLDER,
            EntryImage::Uncovered { .. } => KIND_UNCOVERED,
        };
        bytes.push(kind);
        // Names have at most 255 bytes on every known file system, so the limit is never reached.
        bytes
            .extend_from_slice(&(u16::try_from(self.name.len()).unwrap_or(u16::MAX)).to_le_bytes());
        bytes.extend_from_slice(&self.name);
        match &self.image {
            EntryImage::File { content, size, mode, is_ignored: _ } => {
                bytes.extend_from_slice(&mode.to_le_bytes());
                bytes.extend_from_slice(&size.to_le_bytes());
                bytes.extend_from_slice(content.as_bytes());
            }
            EntryImage::Link { target } => {
                let length = u32::try_from(target.len()).unwrap_or(u32::MAX);
                bytes.extend_from_slice(&length.to_le_bytes());
                bytes.extend_from_slice(target);
            }
            EntryImage::Folder { record, mode } => {
                bytes.extend_from_slice(&mode.to_le_bytes());
                bytes.extend_from_slice(record.as_bytes());
            }
            EntryImage::Uncovered { reason, stamp } => {
                bytes.push(encode_reason(*reason));
                bytes.extend_from_slice(&stamp.size.to_le_bytes());
                bytes.extend_from_slice(&stamp.modified_seconds.to_le_bytes());
                bytes.extend_from_slice(&stamp.modified_nanos.to_le_bytes());
            }
        }
    }

    pub(crate) fn decode_from(reader: &mut ByteReader<'_>) -> Option<Self> {
        let kind = reader.take_u8()?;
        let length = reader.take_u16()?;
        let name = reader.take(usize::from(length))?;
        if !is_plain_name(name) {
            return None;
        }
        let image = match kind {
            KIND_FILE | KIND_IGNORED_FILE => EntryImage::File {
                mode: reader.take_mode()?,
                size: reader.take_u64()?,
                content: reader.take_digest()?,
                is_ignored: kind == KIND_IGNORED_FILE,
            },
            KIND_LINK => {
                let length = reader.take_u32()?;
                let target = reader.take(usize::try_from(length).ok()?)?;
                if target.is_empty() || target.contains(&0) {
                    return None;
                }
                EntryImage::Link { target: target.into() }
            }
            KIND_FOLDER => {
                EntryImage::Folder { mode: reader.take_mode()?, record: reader.take_digest()? }
            }
            KIND_UNCOVERED => EntryImage::Uncovered {
                reason: decode_reason(reader.take_u8()?)?,
                stamp: UncoveredStamp {
                    size: reader.take_u64()?,
                    modified_seconds: reader.take_u64()?.cast_signed(),
                    modified_nanos: reader.take_u32()?,
                },
            },
            _ => return None,
        };
        Some(Self { name: name.into(), image })
    }
}

pub(crate) fn encode_reason(reason: UncoveredReason) -> u8 {
    match reason {
        UncoveredReason::Ignored => 1,
        UncoveredReason::TooLarge => 2,
        UncoveredReason::Unreadable => 3,
        UncoveredReason::NotPlain => 4,
        UncoveredReason::OtherMount => 5,
        UncoveredReason::Unstable => 6,
        UncoveredReason::NoRoom => 7,
        UncoveredReason::GitObjects => 8,
        UncoveredReason::Refused => 9,
    }
}

pub(crate) fn decode_reason(byte: u8) -> Option<UncoveredReason> {
    match byte {
        1 => Some(UncoveredReason::Ignored),
        2 => Some(UncoveredReason::TooLarge),
        3 => Some(UncoveredReason::Unreadable),
        4 => Some(UncoveredReason::NotPlain),
        5 => Some(UncoveredReason::OtherMount),
        6 => Some(UncoveredReason::Unstable),
        7 => Some(UncoveredReason::NoRoom),
        8 => Some(UncoveredReason::GitObjects),
        9 => Some(UncoveredReason::Refused),
        _ => None,
    }
}

/// Consumes values from the front of a byte slice; `None` when too few bytes are left.
#[derive(Debug)]
pub(crate) struct ByteReader<'a> {
    pub(crate) rest: &'a [u8],
}

impl<'a> ByteReader<'a> {
    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    pub(crate) fn take_u8(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    pub(crate) fn take_u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.take(2)?.try_into().ok()?))
    }

    pub(crate) fn take_u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    pub(crate) fn take_u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    pub(crate) fn take_digest(&mut self) -> Option<ContentDigest> {
        ContentDigest::from_slice(self.take(32)?)
    }

    fn take_mode(&mut self) -> Option<u32> {
        self.take_u32().filter(|mode| mode & !MODE_MASK == 0)
    }
}
