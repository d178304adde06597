//! Packs a snapshot into one stream for another machine.
//!
//! The stream has the folder records without excluded entries and the contents the receiver lacks,
//! each encoded as in a segment; then an end mark, the root's digest and the digest of the whole
//! stream. Of a folder whose earlier record the receiver has, version 2 may have only what changed.
//! The receiver checks everything and takes all of it or nothing.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;

use ring::digest::{Context, SHA256};

use crate::digest::{ContentDigest, SnapshotId};
use crate::error::{PackProblem, WorkspaceError};
use crate::folder_changes::{BASE_BYTES, apply_changes, encode_changes};
use crate::folder_record::{EntryImage, FolderRecord};
use crate::known_folders::KnownFolders;
use crate::options::WorkspaceLimits;
use crate::relative_path::RelativePath;
use crate::store::{
    ContentStore, HEADER_BYTES, RecordHeader, StorageMethod, decompress, encode_mark,
    encode_record, encode_stored,
};

const MAGIC: &[u8; 8] = b"WLPACK1\n";
/// With changes of folders. A pack without known snapshots has none, so that every version reads it.
const MAGIC_WITH_CHANGES: &[u8; 8] = b"WLPACK2\n";
const RECORD_BYTES_MAX: u64 = 64 << 20;
const DEPTH_MAX: usize = 1_000;

#[derive(Debug, Clone, Default)]
pub struct PackOptions {
    /// Ignored files to include nevertheless.
    pub include_ignored: BTreeSet<RelativePath>,
    /// Snapshots the receiver has taken itself or got as packs; their contents are left out. Of a
    /// folder that the last one has too, only the changes are packed.
    pub known: Vec<SnapshotId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackReport {
    /// The snapshot the receiver gets, without the excluded paths.
    pub id: SnapshotId,
    pub contents: u64,
    pub bytes: u64,
    /// Ignored files and git's own state.
    pub left_out: Vec<RelativePath>,
}

pub(crate) fn pack_snapshot(
    store: &ContentStore,
    snapshot: SnapshotId,
    options: &PackOptions,
    out: &mut dyn Write,
) -> Result<PackReport, WorkspaceError> {
    let mut known = KnownFolders::default();
    let mut base = None;
    for snapshot in &options.known {
        base = Some(known.add(store, snapshot.digest())?);
    }
    let mut pack = PackWriter {
        store,
        options,
        out,
        digest: Context::new(&SHA256),
        written: HashSet::new(),
        known,
        report: PackReport { id: snapshot, contents: 0, bytes: 0, left_out: Vec::new() },
    };
    pack.write(if base.is_some() { MAGIC_WITH_CHANGES } else { MAGIC })?;
    let root = pack.write_folder(&RelativePath::root(), snapshot.digest(), base)?;
    pack.write(&encode_mark())?;
    pack.write(root.as_bytes())?;
    let digest = pack.digest.clone().finish();
    pack.write(digest.as_ref())?;
    pack.report.id = SnapshotId::from_digest(root);
    Ok(pack.report)
}

struct PackWriter<'a> {
    store: &'a ContentStore,
    options: &'a PackOptions,
    out: &'a mut dyn Write,
    digest: Context,
    /// Already in the stream.
    written: HashSet<ContentDigest>,
    known: KnownFolders,
    report: PackReport,
}

impl PackWriter<'_> {
    /// Writes everything below a folder, then its record. Returns the record's digest. `base` is the
    /// folder's record in the last known snapshot.
    fn write_folder(
        &mut self,
        path: &RelativePath,
        record: ContentDigest,
        base: Option<ContentDigest>,
    ) -> Result<ContentDigest, WorkspaceError> {
        if self.known.held.contains(&record) {
            // Nothing of it is left out or missing there.
            return Ok(record);
        }
        let base = base.and_then(|base| Some((base, self.known.read_base(self.store, &base)?)));
        let mut folder = self.store.read_folder(&record)?;
        let mut kept = Vec::with_capacity(folder.entries.len());
        for mut entry in folder.entries {
            let entry_path = path.join(&entry.name);
            if self.is_left_out(&entry_path, &entry.image) {
                self.report.left_out.push(entry_path);
                continue;
            }
            match &mut entry.image {
                EntryImage::File { content, is_ignored, .. } => {
                    *is_ignored = false;
                    if !self.is_there(content) {
                        let bytes = self.store.read(content)?;
                        let record = encode_record(*content, &bytes);
                        self.write_record(*content, &record.ok_or(WorkspaceError::NoRoom)?)?;
                    }
                }
                EntryImage::Folder { record, .. } => {
                    let earlier = base.as_ref().and_then(|(_, base)| base.find_folder(&entry.name));
                    *record = self.write_folder(&entry_path, *record, earlier)?;
                }
                EntryImage::Link { .. } | EntryImage::Uncovered { .. } => {}
            }
            kept.push(entry);
        }
        folder.entries = kept;
        let bytes = folder.encode();
        let digest = ContentDigest::of(&bytes);
        if self.is_there(&digest) {
            return Ok(digest);
        }
        let changes = base.map(|(base, before)| encode_changes(base, &before, &folder));
        let whole = encode_record(digest, &bytes).ok_or(WorkspaceError::NoRoom)?;
        match changes.filter(|changes| HEADER_BYTES + changes.len() < whole.len()) {
            Some(changes) => {
                let method = StorageMethod::FolderChanges;
                let record = encode_stored(method, digest, bytes.len(), &changes);
                self.write_record(digest, &record.ok_or(WorkspaceError::NoRoom)?)?;
            }
            None => self.write_record(digest, &whole)?,
        }
        Ok(digest)
    }

    /// In the stream, or known to the receiver.
    fn is_there(&self, digest: &ContentDigest) -> bool {
        self.written.contains(digest) || self.known.held.contains(digest)
    }

    fn is_left_out(&self, path: &RelativePath, image: &EntryImage) -> bool {
        let is_ignored = matches!(image, EntryImage::File { is_ignored: true, .. });
        path.is_git_state() || is_ignored && !self.options.include_ignored.contains(path)
    }

    fn write_record(&mut self, digest: ContentDigest, record: &[u8]) -> Result<(), WorkspaceError> {
        self.written.insert(digest);
        self.report.contents += 1;
        self.write(record)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), WorkspaceError> {
        self.digest.update(bytes);
        self.report.bytes += bytes.len() as u64;
        self.out
            .write_all(bytes)
            .map_err(|error| WorkspaceError::disk("write", std::path::Path::new("pack"), error))
    }
}

/// `own` is the receiver's last look: changes of folders may be based on it.
pub(crate) fn unpack_snapshot(
    store: &ContentStore,
    limits: &WorkspaceLimits,
    own: Option<SnapshotId>,
    from: &mut dyn Read,
) -> Result<SnapshotId, WorkspaceError> {
    let mut reader = PackReader { from, digest: Context::new(&SHA256), raw_bytes: 0 };
    let magic = reader.take(MAGIC.len())?;
    if magic != MAGIC && magic != MAGIC_WITH_CHANGES {
        return Err(WorkspaceError::NotAPack);
    }
    let mut bases = PackBases { store, own, known: None };
    let mut staged = StagedPack::create(store)?;
    let root = loop {
        let header = RecordHeader::decode(&reader.take(HEADER_BYTES)?)
            .ok_or(WorkspaceError::PackRefused(PackProblem::BadRecord))?;
        let bytes = match header.method {
            StorageMethod::SyncMark => break reader.take_end()?,
            StorageMethod::FolderChanges if magic == MAGIC_WITH_CHANGES => {
                let changes = reader.take_stored(&header, limits)?;
                bases.apply(&header, &changes, &staged)?
            }
            StorageMethod::Plain
            | StorageMethod::Lz4
            | StorageMethod::PackNames
            | StorageMethod::FolderChanges => reader.take_content(&header, limits)?,
        };
        staged.add(&header, &bytes)?;
    };
    let mut tree = PackTree { store, staged: &staged, limits, seen: HashMap::new() };
    tree.check_folder(root, 0)?;
    staged.move_to_store(store)?;
    Ok(SnapshotId::from_digest(root))
}

/// The records that a pack's changes of folders are based on.
struct PackBases<'a> {
    store: &'a ContentStore,
    own: Option<SnapshotId>,
    known: Option<KnownFolders>,
}

impl PackBases<'_> {
    fn apply(
        &mut self,
        header: &RecordHeader,
        changes: &[u8],
        staged: &StagedPack,
    ) -> Result<Vec<u8>, WorkspaceError> {
        let refused = WorkspaceError::PackRefused;
        let base = changes.get(..BASE_BYTES).and_then(ContentDigest::from_slice);
        let base = base.ok_or(refused(PackProblem::BadRecord))?;
        let before = match staged.read(&base)? {
            Some(before) => before,
            None => self.read(&base)?.ok_or(refused(PackProblem::MissingContent))?,
        };
        let bytes = apply_changes(&before, changes).ok_or(refused(PackProblem::BadRecord))?;
        let is_same =
            bytes.len() == header.raw_length as usize && ContentDigest::of(&bytes) == header.digest;
        if is_same { Ok(bytes) } else { Err(refused(PackProblem::WrongDigest)) }
    }

    fn read(&mut self, base: &ContentDigest) -> Result<Option<Vec<u8>>, WorkspaceError> {
        if let Ok(before) = self.store.read(base) {
            return Ok(Some(before));
        }
        if self.known.is_none() {
            let mut known = KnownFolders::default();
            if let Some(own) = self.own {
                known.add(self.store, own.digest())?;
            }
            self.known = Some(known);
        }
        let made = self.known.as_ref().and_then(|known| known.find_made(base));
        Ok(made.map(FolderRecord::encode))
    }
}

struct PackReader<'a> {
    from: &'a mut dyn Read,
    digest: Context,
    raw_bytes: u64,
}

impl PackReader<'_> {
    fn take(&mut self, count: usize) -> Result<Vec<u8>, WorkspaceError> {
        let mut bytes = Vec::new();
        let read = (&mut *self.from).take(count as u64).read_to_end(&mut bytes);
        read.map_err(|error| WorkspaceError::disk("read", std::path::Path::new("pack"), error))?;
        self.digest.update(&bytes);
        match bytes.len() == count {
            true => Ok(bytes),
            false => Err(WorkspaceError::PackCut),
        }
    }

    fn take_content(
        &mut self,
        header: &RecordHeader,
        limits: &WorkspaceLimits,
    ) -> Result<Vec<u8>, WorkspaceError> {
        let stored = self.take_stored(header, limits)?;
        decompress(header.method, &stored, header.raw_length as usize)
            .filter(|bytes| ContentDigest::of(bytes) == header.digest)
            .ok_or(WorkspaceError::PackRefused(PackProblem::WrongDigest))
    }

    /// Checks the lengths before anything is read or decompressed.
    fn take_stored(
        &mut self,
        header: &RecordHeader,
        limits: &WorkspaceLimits,
    ) -> Result<Vec<u8>, WorkspaceError> {
        let raw = u64::from(header.raw_length);
        self.raw_bytes += raw;
        let is_over = raw > RECORD_BYTES_MAX.max(limits.file_bytes)
            || header.stored_length > header.raw_length
            || self.raw_bytes > limits.pack_bytes;
        match is_over {
            true => Err(WorkspaceError::PackRefused(PackProblem::TooLarge)),
            false => self.take(header.stored_length as usize),
        }
    }

    /// Reads the root's digest and the digest of everything before it. Rejects trailing bytes.
    fn take_end(&mut self) -> Result<ContentDigest, WorkspaceError> {
        let root = self.take(32)?;
        let digest = self.digest.clone().finish();
        let is_whole = self.take(32)? == digest.as_ref();
        let mut more = [0];
        let is_end = matches!(self.from.read(&mut more), Ok(0));
        ContentDigest::from_slice(&root)
            .filter(|_| is_whole && is_end)
            .ok_or(WorkspaceError::PackRefused(PackProblem::WrongDigest))
    }
}

/// Received contents before they are checked, in an unlinked file.
struct StagedPack {
    file: std::fs::File,
    end: u64,
    places: HashMap<ContentDigest, (u64, usize)>,
}

impl StagedPack {
    fn create(store: &ContentStore) -> Result<Self, WorkspaceError> {
        let path = store.folder().join("incoming");
        let opened = std::fs::File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .and_then(|file| std::fs::remove_file(&path).map(|()| file));
        let file = opened.map_err(|error| WorkspaceError::disk("create", &path, error))?;
        Ok(Self { file, end: 0, places: HashMap::new() })
    }

    fn add(&mut self, header: &RecordHeader, bytes: &[u8]) -> Result<(), WorkspaceError> {
        self.file.write_all_at(bytes, self.end).map_err(staging_error)?;
        self.places.insert(header.digest, (self.end, bytes.len()));
        self.end += bytes.len() as u64;
        Ok(())
    }

    fn read(&self, digest: &ContentDigest) -> Result<Option<Vec<u8>>, WorkspaceError> {
        let Some((start, length)) = self.places.get(digest).copied() else { return Ok(None) };
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, start).map_err(staging_error)?;
        Ok(Some(bytes))
    }

    fn move_to_store(&self, store: &ContentStore) -> Result<(), WorkspaceError> {
        let digests: Vec<ContentDigest> = self.places.keys().copied().collect();
        for digest in digests {
            if let Some(bytes) = self.read(&digest)? {
                store.put_content(digest, &bytes)?;
            }
        }
        store.sync()
    }
}

fn staging_error(error: std::io::Error) -> WorkspaceError {
    WorkspaceError::disk("stage", std::path::Path::new("pack"), error)
}

/// Checks the tree that a pack describes.
struct PackTree<'a> {
    store: &'a ContentStore,
    staged: &'a StagedPack,
    limits: &'a WorkspaceLimits,
    /// Checked folders, with the number of paths and bytes below them.
    seen: HashMap<ContentDigest, PackWeight>,
}

/// Size of a folder when it is written out, where shared records count each time.
#[derive(Debug, Clone, Copy, Default)]
struct PackWeight {
    paths: u64,
    bytes: u64,
}

impl PackTree<'_> {
    fn check_folder(
        &mut self,
        record: ContentDigest,
        depth: usize,
    ) -> Result<PackWeight, WorkspaceError> {
        let refused = |problem| Err(WorkspaceError::PackRefused(problem));
        if depth > DEPTH_MAX {
            return refused(PackProblem::TooDeep);
        }
        if let Some(weight) = self.seen.get(&record) {
            return Ok(*weight);
        }
        let bytes = match self.staged.read(&record)? {
            Some(bytes) => bytes,
            None => match self.store.read(&record) {
                Ok(bytes) => bytes,
                Err(_) => return refused(PackProblem::MissingContent),
            },
        };
        let Some(folder) = FolderRecord::decode(&bytes) else {
            return refused(PackProblem::BadRecord);
        };
        let mut weight = PackWeight::default();
        for entry in folder.entries {
            if entry.name.eq_ignore_ascii_case(b".git") {
                return refused(PackProblem::CarriesGit);
            }
            weight.paths = weight.paths.saturating_add(1);
            match entry.image {
                EntryImage::File { content, size, .. } => {
                    weight.bytes = weight.bytes.saturating_add(size);
                    self.check_content(&content, size)?;
                }
                EntryImage::Folder { record, .. } => {
                    let inner = self.check_folder(record, depth + 1)?;
                    weight.paths = weight.paths.saturating_add(inner.paths);
                    weight.bytes = weight.bytes.saturating_add(inner.bytes);
                }
                EntryImage::Link { .. } | EntryImage::Uncovered { .. } => {}
            }
        }
        if weight.paths > self.limits.paths || weight.bytes > self.limits.pack_bytes {
            return refused(PackProblem::TooLarge);
        }
        self.seen.insert(record, weight);
        Ok(weight)
    }

    fn check_content(&self, content: &ContentDigest, size: u64) -> Result<(), WorkspaceError> {
        let is_staged =
            self.staged.places.get(content).is_some_and(|(_, length)| *length as u64 == size);
        let is_there =
            is_staged || self.store.read(content).is_ok_and(|bytes| bytes.len() as u64 == size);
        match is_there {
            true => Ok(()),
            false => Err(WorkspaceError::PackRefused(PackProblem::MissingContent)),
        }
    }
}
