//! Builds packs that our packer never writes, with valid checksums.

use windlass_workspace::ContentDigest;

pub(crate) struct HostilePack {
    bytes: Vec<u8>,
}

impl HostilePack {
    pub(crate) fn new() -> Self {
        Self { bytes: b"WLPACK1\n".to_vec() }
    }

    pub(crate) fn add(&mut self, content: &[u8]) -> ContentDigest {
        self.add_claiming(content, u32::try_from(content.len()).unwrap())
    }

    /// Adds a content whose header claims `length` bytes.
    pub(crate) fn add_claiming(&mut self, content: &[u8], length: u32) -> ContentDigest {
        let digest = ContentDigest::of(content);
        let mut header = b"WSR1\0".to_vec();
        header.extend_from_slice(digest.as_bytes());
        header.extend_from_slice(&length.to_le_bytes());
        header.extend_from_slice(&u32::try_from(content.len()).unwrap().to_le_bytes());
        header.extend_from_slice(&crc32fast::hash(content).to_le_bytes());
        header.extend_from_slice(&crc32fast::hash(&header).to_le_bytes());
        self.bytes.extend_from_slice(&header);
        self.bytes.extend_from_slice(content);
        digest
    }

    pub(crate) fn add_folder(&mut self, entries: &[Vec<u8>]) -> ContentDigest {
        self.add(&[b"WFR1".as_slice(), &entries.concat()].concat())
    }

    pub(crate) fn file(name: &str, content: ContentDigest, size: u64, mode: u32) -> Vec<u8> {
        let mut entry = Self::begin_entry(1, name);
        entry.extend_from_slice(&mode.to_le_bytes());
        entry.extend_from_slice(&size.to_le_bytes());
        entry.extend_from_slice(content.as_bytes());
        entry
    }

    pub(crate) fn link(name: &str, target: &str) -> Vec<u8> {
        let mut entry = Self::begin_entry(3, name);
        entry.extend_from_slice(&u32::try_from(target.len()).unwrap().to_le_bytes());
        entry.extend_from_slice(target.as_bytes());
        entry
    }

    pub(crate) fn folder(name: &str, record: ContentDigest) -> Vec<u8> {
        let mut entry = Self::begin_entry(4, name);
        entry.extend_from_slice(&0o755_u32.to_le_bytes());
        entry.extend_from_slice(record.as_bytes());
        entry
    }

    /// Ends the pack with this root and returns it.
    pub(crate) fn end(mut self, root: ContentDigest) -> Vec<u8> {
        let mut mark = b"WSR1\x02".to_vec();
        mark.extend_from_slice(&[0; 32 + 12]);
        mark.extend_from_slice(&crc32fast::hash(&mark).to_le_bytes());
        self.bytes.extend_from_slice(&mark);
        self.bytes.extend_from_slice(root.as_bytes());
        let digest = ContentDigest::of(&self.bytes);
        self.bytes.extend_from_slice(digest.as_bytes());
        self.bytes
    }

    fn begin_entry(kind: u8, name: &str) -> Vec<u8> {
        let mut entry = vec![kind];
        entry.extend_from_slice(&u16::try_from(name.len()).unwrap().to_le_bytes());
        entry.extend_from_slice(name.as_bytes());
        entry
    }
}
