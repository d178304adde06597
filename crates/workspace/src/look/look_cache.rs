//! The state of the tree at the last look, in memory and in a file.
//!
//! The file only saves time: it has a checksum, belongs to one root, and may be deleted.

use std::cmp::Ordering;
use std::path::Path;
use std::sync::Arc;

use crate::digest::ContentDigest;
use crate::folder_record::{ByteReader, EntryImage, FolderEntry, MODE_MASK};
use crate::path_image::{UncoveredReason, UncoveredStamp};
use crate::root_folder::{FileStamp, RootFolder};

const MAGIC: &[u8; 4] = b"WLC1";
const CACHE_BYTES_MAX: u64 = 256 << 20;
const DEPTH_MAX: usize = 2_000;
/// Bytes of device and inode of the root, at the end of the header.
const IDENTITY_LENGTH: usize = 16;

/// A large tree has as many entries, so they are kept small: names in one piece, and nothing twice.
#[derive(Debug)]
pub(crate) struct CachedFolder {
    /// Sorted by name.
    entries: Box<[StoredEntry]>,
    names: Box<[u8]>,
    pub(crate) source: DecisionSource,
    pub(crate) record: ContentDigest,
}

#[derive(Debug)]
struct StoredEntry {
    image: StoredImage,
    modified_seconds: i64,
    changed_seconds: i64,
    size: u64,
    inode: u64,
    modified_nanos: u32,
    changed_nanos: u32,
    /// Where the name ends; it begins where the one before ends.
    name_end: u32,
    /// No system has more bits. One that had would read its files at every look.
    mode: u16,
    is_settled: bool,
    is_ignored: bool,
}

/// An image without what the stamp says too.
#[derive(Debug)]
enum StoredImage {
    File(ContentDigest),
    Link(Box<[u8]>),
    Folder(Arc<CachedFolder>),
    Uncovered(UncoveredReason, UncoveredStamp),
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

/// An entry as the walk makes and compares it.
#[derive(Debug, Clone)]
pub(crate) struct CachedEntry {
    /// Empty in an entry of a cached folder: `CachedFolder::name` has it.
    pub(crate) name: Box<[u8]>,
    pub(crate) stamp: FileStamp,
    /// Old enough when it was read that any later write changes the stamp.
    pub(crate) is_settled: bool,
    pub(crate) is_ignored: bool,
    pub(crate) image: EntryImage,
    /// Of every folder that was walked to its end.
    pub(crate) folder: Option<Arc<CachedFolder>>,
}

impl CachedFolder {
    pub(crate) fn new(
        entries: Vec<CachedEntry>,
        source: DecisionSource,
        record: ContentDigest,
    ) -> Self {
        let mut names = Vec::with_capacity(entries.iter().map(|entry| entry.name.len()).sum());
        let store = |entry: CachedEntry| {
            names.extend_from_slice(&entry.name);
            StoredEntry::new(entry, u32::try_from(names.len()).unwrap_or(u32::MAX))
        };
        let entries = entries.into_iter().map(store).collect();
        Self { entries, names: names.into(), source, record }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn name(&self, index: usize) -> &[u8] {
        let end = |index: usize| self.entries.get(index).map_or(0, |entry| entry.name_end as usize);
        let start = index.checked_sub(1).map_or(0, end);
        self.names.get(start..end(index)).unwrap_or_default()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.len()).map(|index| self.name(index))
    }

    pub(crate) fn entry(&self, index: usize) -> Option<CachedEntry> {
        self.entries.get(index).map(StoredEntry::to_entry)
    }

    /// With their names, which the entries lack.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&[u8], CachedEntry)> {
        self.names().zip(self.entries.iter().map(StoredEntry::to_entry))
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<usize> {
        let mut range = 0..self.len();
        while !range.is_empty() {
            let middle = range.start + range.len() / 2;
            match self.name(middle).cmp(name) {
                Ordering::Equal => return Some(middle),
                Ordering::Less => range.start = middle + 1,
                Ordering::Greater => range.end = middle,
            }
        }
        None
    }
}

impl StoredEntry {
    fn new(entry: CachedEntry, name_end: u32) -> Self {
        let CachedEntry { name: _, stamp, is_settled, is_ignored, image, folder } = entry;
        let image = match (image, folder) {
            (_, Some(folder)) => StoredImage::Folder(folder),
            (EntryImage::File { content, .. }, None) => StoredImage::File(content),
            (EntryImage::Link { target }, None) => StoredImage::Link(target),
            (EntryImage::Uncovered { reason, stamp }, None) => {
                StoredImage::Uncovered(reason, stamp)
            }
            // There is none without its entries; the next look walks it.
            (EntryImage::Folder { .. }, None) => {
                StoredImage::Uncovered(UncoveredReason::Unstable, UncoveredStamp::default())
            }
        };
        Self {
            image,
            modified_seconds: stamp.modified_seconds,
            changed_seconds: stamp.changed_seconds,
            size: stamp.size,
            inode: stamp.inode,
            modified_nanos: stamp.modified_nanos,
            changed_nanos: stamp.changed_nanos,
            name_end,
            mode: u16::try_from(stamp.mode).unwrap_or_default(),
            is_settled,
            is_ignored,
        }
    }

    fn to_entry(&self) -> CachedEntry {
        let is_ignored = self.is_ignored;
        let mode = u32::from(self.mode) & MODE_MASK;
        let mut inner = None;
        let image = match &self.image {
            StoredImage::File(content) => {
                EntryImage::File { content: *content, size: self.size, mode, is_ignored }
            }
            StoredImage::Link(target) => EntryImage::Link { target: target.clone() },
            StoredImage::Folder(folder) => {
                inner = Some(Arc::clone(folder));
                EntryImage::Folder { record: folder.record, mode }
            }
            StoredImage::Uncovered(reason, stamp) => {
                EntryImage::Uncovered { reason: *reason, stamp: *stamp }
            }
        };
        let stamp = FileStamp {
            modified_seconds: self.modified_seconds,
            modified_nanos: self.modified_nanos,
            changed_seconds: self.changed_seconds,
            changed_nanos: self.changed_nanos,
            size: self.size,
            inode: self.inode,
            mode: u32::from(self.mode),
        };
        let name = Box::default();
        CachedEntry { name, stamp, is_settled: self.is_settled, is_ignored, image, folder: inner }
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
    for (name, entry) in folder.entries() {
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
        FolderEntry { name: name.into(), image: entry.image }.encode_to(bytes);
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
        let record_inside = image.folder_record();
        let folder = match flags & 4 != 0 {
            true => Some(decode_folder(reader, depth + 1)?),
            false => None,
        };
        if record_inside != folder.as_ref().map(|folder| folder.record) {
            return None;
        }
        let is_settled = flags & 1 != 0;
        let is_ignored = flags & 2 != 0;
        entries.push(CachedEntry { name, stamp, is_settled, is_ignored, image, folder });
    }
    Some(Arc::new(CachedFolder::new(entries, source, record)))
}
