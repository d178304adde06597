//! The state of the tree at the last look, in memory and in a file.
//!
//! The file only saves time: it has a checksum, belongs to one root, and may be deleted.

use std::path::Path;
use std::sync::Arc;

use crate::digest::ContentDigest;
use crate::folder_record::{ByteReader, EntryImage, FolderEntry};
use crate::root_folder::{FileStamp, RootFolder};

const MAGIC: &[u8; 4] = b"WLC1";
const CACHE_BYTES_MAX: u64 = 256 << 20;
const DEPTH_MAX: usize = 2_000;
/// Bytes of device and inode of the root, at the end of the header.
const IDENTITY_LENGTH: usize = 16;

#[derive(Debug)]
pub(crate) struct CachedFolder {
    /// Sorted by name.
    pub(crate) entries: Vec<CachedEntry>,
    pub(crate) source: DecisionSource,
    pub(crate) record: ContentDigest,
}

/// What the cached ignore decisions were based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DecisionSource {
    pub(crate) rules: ContentDigest,
    /// Changes with git's index; 0 without an index.
    pub(crate) index: u64,
}

impl DecisionSource {
    /// Differs from the value for the same rules, so that another process queries the rules again.
    pub(crate) fn with_kept_coverage(self) -> Self {
        Self { rules: ContentDigest::of(self.rules.as_bytes()), ..self }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct CachedEntry {
    pub(crate) name: Box<[u8]>,
    pub(crate) stamp: FileStamp,
    /// Old enough when it was read that any later write changes the stamp.
    pub(crate) is_settled: bool,
    pub(crate) is_ignored: bool,
    pub(crate) image: EntryImage,
    pub(crate) folder: Option<Arc<CachedFolder>>,
}

impl CachedFolder {
    pub(crate) fn find(&self, name: &[u8]) -> Option<usize> {
        self.entries.binary_search_by(|entry| entry.name.as_ref().cmp(name)).ok()
    }
}

/// Writes a temporary file and renames it, so that a reader sees either the old or the new version.
pub(crate) fn save_cache(
    path: &Path,
    root: &RootFolder,
    folder: &CachedFolder,
) -> std::io::Result<()> {
    let mut bytes = encode_head(root);
    encode_folder(folder, &mut bytes);
    let digest = ContentDigest::of(&bytes);
    bytes.extend_from_slice(digest.as_bytes());
    // Per-process name: another process may save its cache at the same time.
    let temporary = path.with_extension(format!("new-{}", std::process::id()));
    std::fs::write(&temporary, &bytes)?;
    std::fs::rename(&temporary, path)
}

/// `None` for a file that is missing, damaged, of another root or of another version. An overlay
/// shows the lower files with their own times and inodes, so for one the root's identity is not
/// compared.
pub(crate) fn load_cache(
    path: &Path,
    root: &RootFolder,
    is_overlay: bool,
) -> Option<Arc<CachedFolder>> {
    if std::fs::metadata(path).ok()?.len() > CACHE_BYTES_MAX {
        return None;
    }
    let bytes = std::fs::read(path).ok()?;
    let (body, digest) = bytes.split_at_checked(bytes.len().checked_sub(32)?)?;
    if ContentDigest::of(body).as_bytes() != digest {
        return None;
    }
    let head = encode_head(root);
    let own_length = if is_overlay { head.len().checked_sub(IDENTITY_LENGTH)? } else { head.len() };
    let (found, rest) = body.split_at_checked(head.len())?;
    if found.get(..own_length)? != head.get(..own_length)? {
        return None;
    }
    let mut reader = ByteReader { rest };
    let folder = decode_folder(&mut reader, 0)?;
    reader.rest.is_empty().then_some(folder)
}

fn encode_head(root: &RootFolder) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    let mut bytes = MAGIC.to_vec();
    let path = root.path.as_os_str().as_bytes();
    bytes.extend_from_slice(&(path.len() as u64).to_le_bytes());
    bytes.extend_from_slice(path);
    bytes.extend_from_slice(&root.device.to_le_bytes());
    bytes.extend_from_slice(&root.inode.to_le_bytes());
    bytes
}

fn encode_folder(folder: &CachedFolder, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(folder.record.as_bytes());
    bytes.extend_from_slice(folder.source.rules.as_bytes());
    bytes.extend_from_slice(&folder.source.index.to_le_bytes());
    bytes.extend_from_slice(&(folder.entries.len() as u64).to_le_bytes());
    for entry in &folder.entries {
        let stamp = &entry.stamp;
        bytes.extend_from_slice(&stamp.modified_seconds.to_le_bytes());
        bytes.extend_from_slice(&stamp.modified_nanos.to_le_bytes());
        bytes.extend_from_slice(&stamp.changed_seconds.to_le_bytes());
        bytes.extend_from_slice(&stamp.changed_nanos.to_le_bytes());
        bytes.extend_from_slice(&stamp.size.to_le_bytes());
        bytes.extend_from_slice(&stamp.inode.to_le_bytes());
        bytes.extend_from_slice(&stamp.mode.to_le_bytes());
        let flags = u8::from(entry.is_settled)
            | u8::from(entry.is_ignored) << 1
            | u8::from(entry.folder.is_some()) << 2;
        bytes.push(flags);
        FolderEntry { name: entry.name.clone(), image: entry.image.clone() }.encode_to(bytes);
        if let Some(inner) = &entry.folder {
            encode_folder(inner, bytes);
        }
    }
}

fn decode_folder(reader: &mut ByteReader<'_>, depth: usize) -> Option<Arc<CachedFolder>> {
    if depth > DEPTH_MAX {
        return None;
    }
    let record = reader.take_digest()?;
    let source = DecisionSource { rules: reader.take_digest()?, index: reader.take_u64()? };
    let count = reader.take_u64()?;
    let mut entries = Vec::new();
    for _ in 0..count {
        let stamp = FileStamp {
            modified_seconds: reader.take_u64()?.cast_signed(),
            modified_nanos: reader.take_u32()?,
            changed_seconds: reader.take_u64()?.cast_signed(),
            changed_nanos: reader.take_u32()?,
            size: reader.take_u64()?,
            inode: reader.take_u64()?,
            mode: reader.take_u32()?,
        };
        let flags = reader.take_u8()?;
        let FolderEntry { name, image } = FolderEntry::decode_from(reader)?;
        let folder = match flags & 4 != 0 {
            true => Some(decode_folder(reader, depth + 1)?),
            false => None,
        };
        let is_settled = flags & 1 != 0;
        let is_ignored = flags & 2 != 0;
        entries.push(CachedEntry { name, stamp, is_settled, is_ignored, image, folder });
    }
    Some(Arc::new(CachedFolder { entries, source, record }))
}
