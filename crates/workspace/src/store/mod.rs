//! The store: contents and folder records by digest, in append-only segments.
//!
//! Several processes may use it: each locks the segment it appends to, and finds what others have
//! added when a digest is missing. Only a process with the exclusive lock removes anything. Reads are
//! checked against the digest, so damage yields `NotKept` and never wrong bytes.
//!
//! If the caller enables it, contents that a held git pack has are not stored again: a table maps
//! them to git's objects.

mod forget;
mod pack_names;
mod segment;
mod store_lock;

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::digest::ContentDigest;
use crate::disk_hook::DiskHook;
use crate::error::WorkspaceError;
use crate::folder_record::FolderRecord;
use crate::git_packs::GitPacks;
use crate::options::WorkspaceLimits;
use pack_names::{DigestHalf, PackNames, PackRow, decode_table, to_half};
pub(crate) use segment::{
    HEADER_BYTES, RecordHeader, StorageMethod, decompress, encode_mark, encode_record,
    encode_stored,
};
use segment::{
    ScannedRecord, SegmentScan, has_writer_lock, read_header, read_stored, scan_segment,
};
pub(crate) use store_lock::RestoreLock;
use store_lock::StoreLock;

/// A segment of this size is closed.
const SEGMENT_BYTES: u64 = 64 << 20;
/// How many segments are tried before another one is begun.
const SEGMENTS_TRIED_MAX: usize = 64;
/// Size at which appended bytes are written to the file.
const BUFFER_BYTES: usize = 1 << 20;
/// Cap for `free_percent`: a percentage of a large disk is more than anyone needs free.
const FREE_BYTES_MAX: u64 = 2 << 30;
/// Extra room for folder records, so that a look can complete when contents are at the limit.
const RECORD_RESERVE: u64 = 32 << 20;
pub(crate) const TRASH_NAME: &str = "trash";

/// Disk space the store takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StoreUsage {
    /// Segments and trash together.
    pub bytes: u64,
    pub segments: u64,
    pub contents: u64,
    /// Files that restores moved away and `forget` has not removed yet.
    pub trash_bytes: u64,
}

#[derive(Debug)]
pub(crate) struct ContentStore {
    folder: PathBuf,
    limits: WorkspaceLimits,
    hook: DiskHook,
    lock: StoreLock,
    packs: RwLock<Arc<GitPacks>>,
    state: Mutex<StoreState>,
}

#[derive(Debug, Default)]
struct StoreState {
    /// By half of the digest, as in `pack_names`: a record's header has all of it.
    index: HashMap<DigestHalf, RecordPlace>,
    pack_names: PackNames,
    segments: BTreeMap<u32, OpenSegment>,
    /// The segment this process appends to.
    current: Option<u32>,
    /// Appended bytes not yet written to the file.
    pending: Vec<u8>,
    is_synced: bool,
    losses: u64,
    added: u64,
    /// Available disk space when last measured, minus what was written since.
    disk_room: u64,
    /// Segments are being removed, so none is continued.
    is_forgetting: bool,
}

#[derive(Debug)]
struct OpenSegment {
    file: Arc<File>,
    /// Bytes in the file; pending bytes follow them.
    length: u64,
    /// Records up to here are in the index.
    indexed: u64,
}

#[derive(Debug, Clone, Copy)]
struct RecordPlace {
    segment: u32,
    offset: u32,
}

impl ContentStore {
    pub(crate) fn open(
        folder: &Path,
        limits: &WorkspaceLimits,
        hook: &DiskHook,
    ) -> Result<Self, WorkspaceError> {
        let mut store = Self {
            folder: folder.to_owned(),
            limits: limits.clone(),
            hook: hook.clone(),
            lock: StoreLock::acquire(folder)?,
            packs: RwLock::default(),
            state: Mutex::default(),
        };
        let mut state = StoreState { is_synced: true, ..StoreState::default() };
        // Only with the exclusive lock may this process continue the last segment of one that has
        // ended.
        state.load(folder, store.lock.is_exclusive())?;
        store.lock.share()?;
        store.state = Mutex::new(state);
        store.reopen_packs();
        store.measure_room()?;
        Ok(store)
    }

    pub(crate) fn set_hook(&mut self, hook: &DiskHook) {
        self.hook = hook.clone();
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn has(&self, digest: &ContentDigest) -> bool {
        let state = self.state();
        state.index.contains_key(&to_half(digest)) || state.pack_names.get(digest).is_some()
    }

    /// Whether nothing needs to be stored: unlike `has`, not when the only place is a pack that may
    /// be overwritten.
    pub(crate) fn has_safely(&self, digest: &ContentDigest) -> bool {
        let state = self.state();
        if state.index.contains_key(&to_half(digest)) {
            return true;
        }
        let Some(name) = state.pack_names.get(digest) else { return false };
        drop(state);
        let packs = self.packs();
        !packs.has_writable() || packs.has_safely(&name)
    }

    /// Stores a file's bytes. At the limit fails with `NoRoom` and writes nothing.
    pub(crate) fn put_content(
        &self,
        digest: ContentDigest,
        bytes: &[u8],
    ) -> Result<(), WorkspaceError> {
        self.put(digest, bytes, 0)
    }

    /// Like `put_content`, but does not store what a held pack has.
    pub(crate) fn put_or_refer(
        &self,
        digest: ContentDigest,
        bytes: &[u8],
    ) -> Result<(), WorkspaceError> {
        if self.has_safely(&digest) {
            return Ok(());
        }
        let Some(name) = self.packs().find(bytes) else { return self.put(digest, bytes, 0) };
        let mut state = self.state();
        state.pack_names.add(PackRow::new(&digest, name));
        state.is_synced = false;
        Ok(())
    }

    /// Reopens the held packs, which may have been added, removed or changed. Contents that no pack
    /// has any more become unavailable; of those in a pack that became writable, the next look
    /// stores what is still there.
    pub(crate) fn reopen_packs(&self) {
        let names = self.state().pack_names.list_names();
        let opened = GitPacks::open(&self.folder, &self.packs(), names);
        let has_writable = opened.packs.has_writable();
        *self.packs.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(opened.packs);
        let mut state = self.state();
        let has_lost = state.pack_names.remove_missing(&opened.missing);
        if has_lost || has_writable && state.pack_names.len() > 0 {
            state.losses += 1;
        }
    }

    /// Reopens the held packs if one of them was modified.
    pub(crate) fn check_packs(&self) {
        if !self.packs().are_unchanged() {
            self.reopen_packs();
        }
    }

    /// Whether any content is only in a held pack.
    pub(crate) fn refers_to_packs(&self) -> bool {
        self.state().pack_names.len() > 0
    }

    fn packs(&self) -> Arc<GitPacks> {
        Arc::clone(&self.packs.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn put_record(&self, record: &[u8]) -> Result<ContentDigest, WorkspaceError> {
        let digest = ContentDigest::of(record);
        self.put(digest, record, RECORD_RESERVE)?;
        Ok(digest)
    }

    fn put(&self, digest: ContentDigest, bytes: &[u8], reserve: u64) -> Result<(), WorkspaceError> {
        if self.has_safely(&digest) {
            return Ok(());
        }
        // Compresses before taking the lock, since this takes most of the time.
        let record = encode_record(digest, bytes).ok_or(WorkspaceError::NoRoom)?;
        let mut state = self.state();
        if state.index.contains_key(&to_half(&digest)) {
            return Ok(());
        }
        let size = record.len() as u64;
        let is_over = state.added + size > self.limits.session_bytes.saturating_add(reserve)
            || state.total() + size > self.limits.store_bytes.saturating_add(reserve)
            || size > state.disk_room;
        if is_over {
            return Err(WorkspaceError::NoRoom);
        }
        self.append(&mut state, Some(digest), &record).map(drop)
    }

    /// Reads the bytes with this digest and verifies them; `NotKept` when they are missing or
    /// damaged.
    pub(crate) fn read(&self, digest: &ContentDigest) -> Result<Vec<u8>, WorkspaceError> {
        if let Some(bytes) = self.read_known(digest) {
            return Ok(bytes);
        }
        // Another process may have added it since.
        self.load_added()?;
        self.read_known(digest).ok_or(WorkspaceError::NotKept(*digest))
    }

    pub(crate) fn read_folder(
        &self,
        digest: &ContentDigest,
    ) -> Result<FolderRecord, WorkspaceError> {
        FolderRecord::decode(&self.read(digest)?).ok_or(WorkspaceError::DamagedRecord)
    }

    /// Loads records that other processes have added.
    fn load_added(&self) -> Result<(), WorkspaceError> {
        let mut state = self.state();
        let tables = state.pack_names.tables.len();
        state.load(&self.folder, false)?;
        let has_more = state.pack_names.tables.len() > tables;
        drop(state);
        if has_more {
            self.reopen_packs();
        }
        Ok(())
    }

    fn read_known(&self, digest: &ContentDigest) -> Option<Vec<u8>> {
        let mut state = self.state();
        let Some(place) = state.index.get(&to_half(digest)).copied() else {
            drop(state);
            return self.read_from_pack(digest);
        };
        let segment = state.segments.get(&place.segment)?;
        if u64::from(place.offset) >= segment.length {
            let start = usize::try_from(u64::from(place.offset) - segment.length).ok()?;
            let record = state.pending.get(start..)?;
            return decode_record(record, digest);
        }
        let file = Arc::clone(&segment.file);
        drop(state);
        let bytes = read_record(&file, place.offset, digest);
        if bytes.is_none() && !is_of_another(&file, place.offset, digest) {
            // Unindexed, so that the next look stores it again if the file still exists.
            state = self.state();
            state.index.remove(&to_half(digest));
            state.losses += 1;
        }
        bytes
    }

    fn read_from_pack(&self, digest: &ContentDigest) -> Option<Vec<u8>> {
        let name = self.state().pack_names.get(digest)?;
        let bytes = self.packs().read(&name, self.limits.file_bytes);
        let found = bytes.as_ref().map(|bytes| ContentDigest::of(bytes));
        if found.is_none_or(|found| to_half(&found) != to_half(digest)) {
            let mut state = self.state();
            state.pack_names.remove(digest);
            state.losses += 1;
        }
        bytes.filter(|_| found == Some(*digest))
    }

    /// Bytes that may still be added before `NoRoom`.
    pub(crate) fn room(&self) -> u64 {
        let state = self.state();
        let session = self.limits.session_bytes.saturating_sub(state.added);
        let store = self.limits.store_bytes.saturating_sub(state.total());
        session.min(store).min(state.disk_room)
    }

    /// Increases whenever contents may have become unavailable.
    pub(crate) fn losses(&self) -> u64 {
        self.state().losses
    }

    /// Returns once everything put so far is on disk.
    pub(crate) fn sync(&self) -> Result<(), WorkspaceError> {
        let mut state = self.state();
        if state.is_synced {
            return Ok(());
        }
        self.append_pack_names(&mut state)?;
        self.append(&mut state, None, &encode_mark())?;
        self.flush(&mut state)?;
        let Some(current) = state.current else { return Ok(()) };
        let Some(file) = state.segments.get(&current).map(|segment| Arc::clone(&segment.file))
        else {
            return Ok(());
        };
        self.hook.before("sync segment");
        file.sync_data().map_err(|error| self.disk_error("write", error))?;
        state.is_synced = true;
        state.pack_names.set_synced();
        drop(state);
        self.measure_room()
    }

    fn append_pack_names(&self, state: &mut StoreState) -> Result<(), WorkspaceError> {
        let Some(record) = state.pack_names.take_record() else { return Ok(()) };
        let offset = self.append(state, None, &record)?;
        if let Some(segment) = state.current {
            state.pack_names.add_table(segment, offset, &[]);
        }
        Ok(())
    }

    fn append(
        &self,
        state: &mut StoreState,
        digest: Option<ContentDigest>,
        record: &[u8],
    ) -> Result<u32, WorkspaceError> {
        let is_full = |segment: &OpenSegment| segment.length >= SEGMENT_BYTES;
        let current =
            state.current.filter(|number| !state.segments.get(number).is_none_or(is_full));
        let number = match current {
            Some(number) => number,
            None => self.begin_segment(state)?,
        };
        let length = state.segments.get(&number).map_or(0, |segment| segment.length);
        let offset = u32::try_from(length + state.pending.len() as u64)
            .map_err(|_| WorkspaceError::NoRoom)?;
        state.pending.extend_from_slice(record);
        state.is_synced = false;
        state.added += record.len() as u64;
        state.disk_room = state.disk_room.saturating_sub(record.len() as u64);
        if let Some(digest) = digest {
            state.index.insert(to_half(&digest), RecordPlace { segment: number, offset });
        }
        if state.pending.len() >= BUFFER_BYTES {
            self.flush(state)?;
        }
        Ok(offset)
    }

    fn begin_segment(&self, state: &mut StoreState) -> Result<u32, WorkspaceError> {
        self.flush(state)?;
        if let Some(old) = state.current.and_then(|number| state.segments.get(&number)) {
            self.hook.before("sync segment");
            old.file.sync_data().map_err(|error| self.disk_error("write", error))?;
        }
        if let Some(number) = state.continue_segment(&self.folder) {
            return Ok(number);
        }
        let mut number = state.segments.keys().next_back().map_or(1, |last| last + 1);
        self.hook.before("create segment");
        let mut options = File::options();
        options.read(true).append(true).create_new(true).mode(0o600);
        let file = loop {
            let path = segment_path(&self.folder, number);
            match options.open(&path) {
                Ok(file) if file.try_lock().is_ok() => break file,
                // Another process uses the number.
                Ok(_) => number += 1,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(WorkspaceError::disk("create", &path, error)),
            }
        };
        self.sync_folder()?;
        let file = Arc::new(file);
        state.segments.insert(number, OpenSegment { file, length: 0, indexed: 0 });
        state.pending.extend_from_slice(&encode_mark());
        state.current = Some(number);
        Ok(number)
    }

    /// On failure nothing of the pending bytes is in the store.
    fn flush(&self, state: &mut StoreState) -> Result<(), WorkspaceError> {
        if state.pending.is_empty() {
            return Ok(());
        }
        let Some(number) = state.current else { return Ok(()) };
        let Some(segment) = state.segments.get_mut(&number) else { return Ok(()) };
        self.hook.before("write segment");
        let pending = std::mem::take(&mut state.pending);
        match (&*segment.file).write_all(&pending) {
            Ok(()) => {
                let end = segment.length + pending.len() as u64;
                // A process of an earlier version, which locks no segment, may append to ours.
                let is_shared = segment.file.metadata().is_ok_and(|found| found.len() != end);
                if is_shared {
                    return self.leave_segment(state, number);
                }
                segment.length = end;
                segment.indexed = end;
                Ok(())
            }
            Err(error) => {
                let length = segment.length;
                // If this fails too, the rest is a torn tail, and the next record begins a new
                // segment.
                let is_cut = segment.file.set_len(length).is_ok();
                state
                    .index
                    .retain(|_, place| place.segment != number || u64::from(place.offset) < length);
                state.pack_names.drop_unsynced(number, length);
                if !is_cut {
                    state.current = None;
                }
                state.is_synced = true;
                match error.kind() {
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                        state.disk_room = 0;
                        Err(WorkspaceError::NoRoom)
                    }
                    _ => Err(self.disk_error("write", error)),
                }
            }
        }
    }

    /// Another process has appended to our segment, so our records are not where they were planned.
    /// Both append, so all of them are whole: they are found again, and the next record begins a new
    /// segment.
    fn leave_segment(&self, state: &mut StoreState, number: u32) -> Result<(), WorkspaceError> {
        let Some(segment) = state.segments.remove(&number) else { return Ok(()) };
        let length = segment.length;
        state.index.retain(|_, place| place.segment != number || u64::from(place.offset) < length);
        state
            .pack_names
            .tables
            .retain(|(own, offset)| *own != number || u64::from(*offset) < length);
        let scan = scan_segment(&segment.file, segment.indexed)
            .map_err(|error| self.disk_error("read", error))?;
        segment.file.sync_data().map_err(|error| self.disk_error("write", error))?;
        state.add_scanned(number, segment.file, &scan);
        state.current = None;
        Ok(())
    }

    /// Measures how much may be written until the next measurement.
    pub(crate) fn measure_room(&self) -> Result<(), WorkspaceError> {
        let disk = rustix::fs::statvfs(&self.folder)
            .map_err(|error| self.disk_error("measure", error.into()))?;
        let kept_free = (disk.f_blocks / 100 * self.limits.free_percent)
            .saturating_mul(disk.f_frsize)
            .min(FREE_BYTES_MAX);
        let room = disk.f_bavail.saturating_mul(disk.f_frsize).saturating_sub(kept_free);
        self.state().disk_room = room;
        Ok(())
    }

    pub(crate) fn usage(&self) -> StoreUsage {
        let trash_bytes = measure_folder(&self.folder.join(TRASH_NAME));
        let state = self.state();
        StoreUsage {
            bytes: state.total() + trash_bytes,
            segments: state.segments.len() as u64,
            contents: (state.index.len() + state.pack_names.len()) as u64,
            trash_bytes,
        }
    }

    pub(crate) fn sync_folder(&self) -> Result<(), WorkspaceError> {
        self.hook.before("sync folder");
        File::open(&self.folder)
            .and_then(|folder| folder.sync_all())
            .map_err(|error| self.disk_error("write", error))
    }

    pub(crate) fn disk_error(&self, what: &'static str, error: io::Error) -> WorkspaceError {
        WorkspaceError::disk(what, &self.folder, error)
    }

    fn state(&self) -> MutexGuard<'_, StoreState> {
        // A panic while the lock was held leaves at worst unreferenced contents.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StoreState {
    fn total(&self) -> u64 {
        self.segments.values().map(|segment| segment.length).sum::<u64>()
            + self.pending.len() as u64
    }

    /// Loads the segments, or what was added to them since the last call. With the exclusive lock,
    /// also takes over the last segment for appending.
    fn load(&mut self, folder: &Path, is_alone: bool) -> Result<(), WorkspaceError> {
        let error_at = |path: &Path, error| WorkspaceError::disk("read", path, error);
        let numbers = list_segments(folder).map_err(|error| error_at(folder, error))?;
        self.segments.retain(|number, _| numbers.contains(number));
        let last = numbers.last().copied();
        for number in numbers {
            let path = segment_path(folder, number);
            if self.current == Some(number) {
                // Our own segment is already indexed and open for writing.
                continue;
            }
            let known = self.segments.get(&number);
            let start = known.map_or(0, |segment| segment.indexed);
            let opened = match known {
                Some(segment) => Ok(Arc::clone(&segment.file)),
                None => File::options().read(true).append(is_alone).open(&path).map(Arc::new),
            };
            let file = match opened {
                Ok(file) => file,
                // A process with the exclusive lock has just removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error_at(&path, error)),
            };
            let scan = scan_segment(&file, start).map_err(|error| error_at(&path, error))?;
            if scan.has_unmarked_tail {
                // A snapshot may refer to records whose process was killed before it synced them.
                let synced = file.sync_data();
                if is_alone {
                    synced.map_err(|error| WorkspaceError::disk("write", &path, error))?;
                }
            }
            let may_continue = is_alone && Some(number) == last && self.current.is_none();
            let is_continued = may_continue
                && scan.is_whole
                && scan.length < SEGMENT_BYTES
                && file.try_lock().is_ok();
            self.add_scanned(number, file, &scan);
            if is_continued {
                self.current = Some(number);
            }
        }
        Ok(())
    }

    fn add_scanned(&mut self, number: u32, file: Arc<File>, scan: &SegmentScan) {
        for ScannedRecord { header, offset } in &scan.records {
            let place = RecordPlace { segment: number, offset: *offset };
            if matches!(header.method, StorageMethod::Plain | StorageMethod::Lz4) {
                self.index.insert(to_half(&header.digest), place);
            } else if header.method == StorageMethod::PackNames
                && let Some(rows) = read_table(&file, *offset)
            {
                self.pack_names.add_table(number, *offset, &rows);
            }
        }
        let segment = OpenSegment { file, length: scan.length, indexed: scan.end };
        self.segments.insert(number, segment);
    }

    /// Continues a segment whose process has ended: otherwise there would be one more for every
    /// process that was not alone.
    fn continue_segment(&mut self, folder: &Path) -> Option<u32> {
        if self.is_forgetting {
            return None;
        }
        let numbers = list_segments(folder).unwrap_or_default();
        for number in numbers.into_iter().rev().take(SEGMENTS_TRIED_MAX) {
            let path = segment_path(folder, number);
            let Ok(file) = File::options().read(true).append(true).open(path) else { continue };
            let is_full = file.metadata().is_ok_and(|found| found.len() >= SEGMENT_BYTES);
            if is_full || !has_writer_lock(&file) || file.try_lock().is_err() {
                continue;
            }
            let start = self.segments.get(&number).map_or(0, |segment| segment.indexed);
            let Ok(scan) = scan_segment(&file, start) else { continue };
            // A table may name objects of packs that this process has not opened.
            let mut records = scan.records.iter();
            let has_table = records.any(|one| one.header.method == StorageMethod::PackNames);
            if scan.is_whole && !has_table {
                self.add_scanned(number, Arc::new(file), &scan);
                self.current = Some(number);
                return Some(number);
            }
        }
        None
    }
}

fn read_record(file: &File, offset: u32, digest: &ContentDigest) -> Option<Vec<u8>> {
    let header = read_header(file, offset).filter(|header| header.digest == *digest)?;
    let stored = read_stored(file, offset, &header)?;
    let bytes = decompress(header.method, &stored, header.raw_length as usize)?;
    (ContentDigest::of(&bytes) == *digest).then_some(bytes)
}

/// Whether the record is not damaged, but has a digest that only begins like this one: a pack of
/// another host may ask for any digest.
fn is_of_another(file: &File, offset: u32, digest: &ContentDigest) -> bool {
    read_header(file, offset).is_some_and(|header| {
        header.digest != *digest && to_half(&header.digest) == to_half(digest)
    })
}

/// `None` for a damaged table: its contents become unavailable.
fn read_table(file: &File, offset: u32) -> Option<Vec<PackRow>> {
    let header = read_header(file, offset)?;
    decode_table(&header, &read_stored(file, offset, &header)?)
}

fn decode_record(record: &[u8], digest: &ContentDigest) -> Option<Vec<u8>> {
    let header = RecordHeader::decode(record).filter(|header| header.digest == *digest)?;
    let end = HEADER_BYTES + header.stored_length as usize;
    decompress(header.method, record.get(HEADER_BYTES..end)?, header.raw_length as usize)
}

/// Removes a store and everything in it.
///
/// # Errors
/// `InUse` while a process uses it, and `Disk`.
pub fn remove_store(folder: &Path) -> Result<(), WorkspaceError> {
    let lock = StoreLock::acquire(folder)?;
    if !lock.is_exclusive() {
        return Err(WorkspaceError::InUse);
    }
    // By another name first: a process that waits for the lock begins a new store.
    let mut aside = folder.as_os_str().to_owned();
    aside.push(format!(".removed-{}", std::process::id()));
    let aside = PathBuf::from(aside);
    let removed = std::fs::rename(folder, &aside).and_then(|()| std::fs::remove_dir_all(&aside));
    removed.map_err(|error| WorkspaceError::disk("remove", folder, error))
}

fn segment_path(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("{number:08}.segment"))
}

fn list_segments(folder: &Path) -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".segment"));
        numbers.extend(number.and_then(|digits| digits.parse::<u32>().ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Total size of the regular files one level below the folder's sub-folders; unreadable ones count
/// 0.
fn measure_folder(folder: &Path) -> u64 {
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries(folder)
        .flat_map(|inner| entries(&inner.path()))
        .filter_map(|file| file.metadata().ok())
        .filter(std::fs::Metadata::is_file)
        .map(|file| file.len())
        .sum()
}
