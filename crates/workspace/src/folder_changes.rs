//! What changed from one folder record to another, as packs carry it: the digest of the earlier
//! record, then the entries that are new or different and the names that are gone.

use std::collections::BTreeMap;

use crate::digest::ContentDigest;
use crate::folder_record::{ByteReader, EntryImage, FolderEntry, FolderRecord};
use crate::relative_path::is_plain_name;

/// In the place of an entry's kind.
const KIND_REMOVED: u8 = 0;
pub(crate) const BASE_BYTES: usize = 32;

pub(crate) fn encode_changes(
    base: ContentDigest,
    before: &FolderRecord,
    after: &FolderRecord,
) -> Vec<u8> {
    let images = |record: &FolderRecord| -> BTreeMap<Box<[u8]>, EntryImage> {
        record.entries.iter().map(|entry| (entry.name.clone(), entry.image.clone())).collect()
    };
    let old = images(before);
    let new = images(after);
    let mut bytes = base.as_bytes().to_vec();
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        bytes.push(KIND_REMOVED);
        bytes.extend_from_slice(&(u16::try_from(name.len()).unwrap_or(u16::MAX)).to_le_bytes());
        bytes.extend_from_slice(name);
    }
    for entry in after.entries.iter().filter(|entry| old.get(&entry.name) != Some(&entry.image)) {
        entry.encode_to(&mut bytes);
    }
    bytes
}

/// The encoded record after the changes; `None` when they are malformed. The caller compares its
/// digest.
pub(crate) fn apply_changes(before: &[u8], changes: &[u8]) -> Option<Vec<u8>> {
    let before = FolderRecord::decode(before)?;
    let mut images: BTreeMap<Box<[u8]>, EntryImage> =
        before.entries.into_iter().map(|entry| (entry.name, entry.image)).collect();
    let mut reader = ByteReader { rest: changes.get(BASE_BYTES..)? };
    while let Some(kind) = reader.rest.first() {
        if *kind == KIND_REMOVED {
            reader.take_u8()?;
            let length = reader.take_u16()?;
            let name = reader.take(usize::from(length)).filter(|name| is_plain_name(name))?;
            images.remove(name)?;
        } else {
            let FolderEntry { name, image } = FolderEntry::decode_from(&mut reader)?;
            images.insert(name, image);
        }
    }
    let entries = images.into_iter().map(|(name, image)| FolderEntry { name, image }).collect();
    Some(FolderRecord { entries }.encode())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(entries: &[(&str, &str)]) -> FolderRecord {
        let entry = |(name, target): &(&str, &str)| FolderEntry {
            name: name.as_bytes().into(),
            image: EntryImage::Link { target: target.as_bytes().into() },
        };
        FolderRecord { entries: entries.iter().map(entry).collect() }
    }

    #[test]
    fn changes_make_the_later_record() {
        let empty = folder(&[]);
        let one = folder(&[("a", "1"), ("b", "1"), ("d", "1")]);
        let other = folder(&[("b", "2"), ("c", "1"), ("d", "1")]);
        for (before, after) in [(&one, &other), (&other, &one), (&empty, &one), (&one, &empty)] {
            let base = ContentDigest::of(&before.encode());
            let changes = encode_changes(base, before, after);
            assert_eq!(apply_changes(&before.encode(), &changes), Some(after.encode()));
            assert_eq!(changes.get(..BASE_BYTES), Some(base.as_bytes().as_slice()));
        }
        let changes = encode_changes(ContentDigest::of(b""), &one, &empty);
        assert_eq!(apply_changes(&empty.encode(), &changes), None, "what it removes is not there");
        assert_eq!(apply_changes(b"", &changes), None);
    }

    #[test]
    fn no_bytes_make_it_panic_or_name_another_folder() {
        let before = folder(&[("a", "1"), ("b", "2")]).encode();
        let changes =
            encode_changes(ContentDigest::of(&before), &folder(&[]), &folder(&[("x", "y")]));
        for position in BASE_BYTES..changes.len() {
            for value in 0..=255 {
                let mut damaged = changes.clone();
                damaged[position] = value;
                let made = apply_changes(&before, &damaged);
                assert!(made.is_none_or(|bytes| FolderRecord::decode(&bytes).is_some()));
            }
        }
        let outside =
            [[0; BASE_BYTES].as_slice(), &[3, 4, 0], b"../x", &[1, 0, 0, 0], b"y"].concat();
        assert_eq!(apply_changes(&before, &outside), None);
    }
}
