//! Appends records. There is one writer per journal: the first file is locked while the writer
//! exists, and the lock ends with the process.
//!
//! Records that are appended together form one line. One sync covers all lines before it, and may
//! run on another thread ([`Flusher`]). A failed write is undone, and the writer can be used again
//! when there is space. A file that could not be synced is never trusted again: the next file
//! continues it, beginning with every line that was not known to be on disk.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use windlass_engine::{Event, Settings};
use windlass_vocabulary::MicroUsd;

use crate::disk::{DiskFile, DiskOpenMode, JournalFileChange};
use crate::durability::Durability;
use crate::error::{JournalError, check_journal_file};
use crate::flusher::Flusher;
use crate::fold::{FoldedJournal, ReplayStep, fold_entries};
use crate::journal_lock::{LockedJournal, PREDECESSOR_WAIT, lock_first_file};
use crate::journal_open_options::JournalOpenOptions;
use crate::journal_reader::{JournalEntry, JournalReader};
use crate::record::{
    FORMAT_VERSION, JournalHead, LineDamage, NewRecordGroup, NewRecordItem, WriterClaim,
    encode_claim, encode_group, encode_head,
};
use crate::rewind::begin_rewound_segment;
use crate::segment;
use crate::snapshot_store::SnapshotStore;

/// Appends to a journal.
#[derive(Debug)]
pub struct JournalWriter {
    file: Box<dyn DiskFile>,
    /// The first file, if another one is written: it holds the lock.
    lock: Option<Box<dyn DiskFile>>,
    path: PathBuf,
    options: JournalOpenOptions,
    segment: u64,
    epoch: u64,
    seq: u64,
    whole_bytes: u64,
    /// The last record known to be on disk.
    synced_seq: u64,
    /// Lines that may not be on disk yet, with the number of the last record of each.
    unsynced_lines: VecDeque<(u64, Vec<u8>)>,
    unsynced_bytes: usize,
    /// The directory entry of the current file is on disk.
    is_directory_synced: Arc<AtomicBool>,
    is_broken: bool,
    warnings: Vec<String>,
}

impl JournalWriter {
    /// Opens or creates a journal, replays it, and removes an incomplete last line.
    pub fn open(
        path: &Path,
        durability: Durability,
        settings: &Settings,
    ) -> Result<(Self, FoldedJournal), JournalError> {
        check_journal_file(path)?;
        Self::open_with(path, JournalOpenOptions::new(durability), settings)
    }

    /// The same with options.
    pub fn open_with(
        path: &Path,
        opening: JournalOpenOptions,
        settings: &Settings,
    ) -> Result<(Self, FoldedJournal), JournalError> {
        Self::open_with_steps(path, opening, settings, |_| {})
    }

    /// The same, with a function for every step of the replay.
    pub(crate) fn open_with_steps(
        path: &Path,
        opening: JournalOpenOptions,
        settings: &Settings,
        on_step: impl FnMut(ReplayStep<'_>),
    ) -> Result<(Self, FoldedJournal), JournalError> {
        Self::open_with_entries(path, opening, settings, on_step, |_| {})
    }

    /// The same, with a second function for every head, claim and note.
    pub fn open_with_entries(
        path: &Path,
        opening: JournalOpenOptions,
        settings: &Settings,
        on_step: impl FnMut(ReplayStep<'_>),
        on_entry: impl FnMut(&JournalEntry),
    ) -> Result<(Self, FoldedJournal), JournalError> {
        check_journal_file(path)?;
        let lock = lock_first_file(&*opening.disk, path, opening.open_mode(), PREDECESSOR_WAIT)?;
        let locked = LockedJournal { path: path.to_owned(), lock };
        Self::open_from_lock(locked, opening, settings, on_step, on_entry)
    }

    /// Opens a locked journal, with functions as above. No other process can write in between.
    pub fn open_from_lock(
        locked: LockedJournal,
        opening: JournalOpenOptions,
        settings: &Settings,
        on_step: impl FnMut(ReplayStep<'_>),
        mut on_entry: impl FnMut(&JournalEntry),
    ) -> Result<(Self, FoldedJournal), JournalError> {
        let LockedJournal { path, lock } = locked;
        let reader = JournalReader::open_on(&*opening.disk, &path)?;
        let mut headed_segment = 0;
        let observe = |entry| {
            on_entry(&entry);
            if let JournalEntry::Head(head) = entry {
                headed_segment = head.segment;
            }
        };
        let (folded, reader) = fold_entries(reader, settings, on_step, observe)?;
        let mut writer = Self::new_at_end(lock, &path, opening, &reader)?;
        writer.write_opening_lines(headed_segment, folded.torn_bytes > 0)?;
        Ok((writer, folded))
    }

    /// Opens or creates a journal without replaying it.
    pub fn open_without_replay(
        path: &Path,
        opening: JournalOpenOptions,
    ) -> Result<Self, JournalError> {
        check_journal_file(path)?;
        let lock = lock_first_file(&*opening.disk, path, opening.open_mode(), PREDECESSOR_WAIT)?;
        let mut reader = JournalReader::open_on(&*opening.disk, path)?;
        let mut headed_segment = 0;
        while let Some(entry) = reader.next_entry()? {
            match entry {
                Ok(JournalEntry::Head(head)) => headed_segment = head.segment,
                Err(LineDamage::Newer(found)) => {
                    let path = reader.path().to_owned();
                    return Err(JournalError::Newer { path, found, known: FORMAT_VERSION });
                }
                Ok(JournalEntry::Claim(_) | JournalEntry::Record(_)) => {}
                // Other damage is skipped, as it is when the journal is read.
                Err(_) => {}
            }
        }
        let mut writer = Self::new_at_end(lock, path, opening, &reader)?;
        writer.write_opening_lines(headed_segment, reader.torn_bytes() > 0)?;
        Ok(writer)
    }

    /// Rewinds to this record, and returns how much was spent after it. If anything came after it,
    /// this writer must not be used any more: reopen the journal with the returned lock.
    ///
    /// # Errors
    ///
    /// The journal was rewound too often, or the disk fails. It then continues as before, unless
    /// the disk does not even tell whether it was rewound.
    pub fn rewind(
        &mut self,
        to: u64,
        settings: &Settings,
        snapshots: &SnapshotStore,
    ) -> Result<Option<MicroUsd>, JournalError> {
        let done = begin_rewound_segment(&self.path, to, settings, snapshots);
        if done.is_err() {
            let next = segment::segment_path(&self.path, self.segment + 1);
            self.is_broken |= self.options.disk.exists(&next);
        }
        done
    }

    /// Stops writing, but keeps the lock.
    #[must_use]
    pub fn into_locked(self) -> LockedJournal {
        LockedJournal { path: self.path, lock: self.lock.unwrap_or(self.file) }
    }

    /// Appends these events in order, with this time. When it returns they are as durable as
    /// requested. Blocks.
    pub fn append_events(&mut self, at: u64, events: &[&Event]) -> Result<(), JournalError> {
        let items: Vec<NewRecordItem<'_>> =
            events.iter().map(|event| NewRecordItem::Event(event)).collect();
        self.append_items(at, &items).map(|_| ())
    }

    /// Appends these items as one line, so all of them are stored or none. Returns the number of
    /// the last record when they are as durable as requested. Blocks.
    ///
    /// # Errors
    ///
    /// The disk fails. Then none of the items is stored. If the remedy is
    /// [`DiskRemedy::MakeRoom`](crate::DiskRemedy::MakeRoom), the caller may try again later.
    pub fn append_items(
        &mut self,
        at: u64,
        items: &[NewRecordItem<'_>],
    ) -> Result<u64, JournalError> {
        let seq = self.write_items(at, items)?;
        if self.options.durability == Durability::Synced && !self.unsynced_lines.is_empty() {
            let result = self.flusher()?.flush();
            self.complete_flush(seq, result)?;
        }
        Ok(seq)
    }

    /// Appends these items as one line without a sync. Returns the number of the last record, which
    /// is durable when a sync that began later has succeeded.
    pub fn write_items(
        &mut self,
        at: u64,
        items: &[NewRecordItem<'_>],
    ) -> Result<u64, JournalError> {
        if self.is_broken {
            let words = "an earlier write failed, and what the disk kept of it is not known";
            return Err(self.disk_error("written")(io::Error::other(words)));
        }
        let Some(count) = u64::try_from(items.len()).ok().filter(|count| *count > 0) else {
            return Ok(self.seq);
        };
        let line = self.encode_group_line(at, items)?;
        self.append_bytes(&line)?;
        self.seq += count;
        if self.options.durability == Durability::Synced {
            self.unsynced_bytes += line.len();
            self.unsynced_lines.push_back((self.seq, line));
        }
        Ok(self.seq)
    }

    /// Records in the file that everything in it is on disk. Optional and not synced: if a record
    /// is damaged later, the marker shows that those after it count.
    pub fn write_sync_marker(&mut self, at: u64) -> Result<(), JournalError> {
        let line = self.encode_group_line(at, &[])?;
        self.append_bytes(&line)
    }

    /// Returns a flusher for another thread. It must be replaced after a failure.
    pub fn flusher(&self) -> Result<Flusher, JournalError> {
        Ok(Flusher {
            file: self.file.try_clone().map_err(self.disk_error("opened"))?,
            disk: Arc::clone(&self.options.disk),
            path: self.path.clone(),
            is_directory_synced: Arc::clone(&self.is_directory_synced),
        })
    }

    /// Handles the result of a sync of all records up to this one. If it failed, writes every line
    /// that is not known to be on disk to the next file, and returns when they are. Blocks then.
    ///
    /// # Errors
    ///
    /// The next file cannot be written either. The writer cannot be used any more.
    pub fn complete_flush(
        &mut self,
        upto: u64,
        result: io::Result<()>,
    ) -> Result<(), JournalError> {
        match result {
            Ok(()) => {
                self.synced_seq = self.synced_seq.max(upto);
                while self.unsynced_lines.front().is_some_and(|(seq, _)| *seq <= upto) {
                    let line = self.unsynced_lines.pop_front();
                    self.unsynced_bytes -= line.map_or(0, |(_, line)| line.len());
                }
                Ok(())
            }
            Err(error) => self.switch_segment(error),
        }
    }

    /// The error for a disk that does not respond.
    #[must_use]
    pub fn overdue_error(&self, waited: Duration) -> JournalError {
        let words = format!("the disk did not answer within {} s", waited.as_secs());
        self.disk_error("made durable")(io::Error::new(io::ErrorKind::TimedOut, words))
    }

    /// Bytes that may not be on disk yet.
    #[must_use]
    pub fn unsynced_bytes(&self) -> usize {
        self.unsynced_bytes
    }

    #[must_use]
    pub fn durability(&self) -> Durability {
        self.options.durability
    }

    /// The number of the last record.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// The epoch of our claim.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Problems that were handled since the last call, as messages for the user.
    pub fn take_warnings(&mut self) -> Vec<String> {
        core::mem::take(&mut self.warnings)
    }

    /// A writer positioned after everything that was read.
    fn new_at_end(
        first: Box<dyn DiskFile>,
        path: &Path,
        opening: JournalOpenOptions,
        reader: &JournalReader,
    ) -> Result<Self, JournalError> {
        let later = segment::find_later_segments(&*opening.disk, path);
        let (file, lock, segment) = match later.last() {
            None => (first, None, 1),
            Some((number, last)) => {
                let file = opening.disk.open(last, DiskOpenMode::Append);
                (file.map_err(JournalError::disk_error(last, "opened"))?, Some(first), *number)
            }
        };
        Ok(Self {
            file,
            lock,
            path: path.to_owned(),
            options: opening,
            segment,
            epoch: reader.epoch() + 1,
            seq: reader.seq(),
            whole_bytes: reader.whole_bytes(),
            synced_seq: reader.seq(),
            unsynced_lines: VecDeque::new(),
            unsynced_bytes: 0,
            is_directory_synced: Arc::default(),
            is_broken: false,
            warnings: Vec::new(),
        })
    }

    /// Removes an incomplete line and writes a claim. Not synced: the first record's sync covers
    /// it, and nothing depends on it before.
    fn write_opening_lines(
        &mut self,
        headed_segment: u64,
        is_torn: bool,
    ) -> Result<(), JournalError> {
        if is_torn {
            self.file.set_len(self.whole_bytes).map_err(self.disk_error("repaired"))?;
            if self.options.durability == Durability::Synced {
                self.file.sync().map_err(self.disk_error("repaired"))?;
            }
        }
        let mut lines = Vec::new();
        if headed_segment != self.segment {
            let after = if self.segment > 1 { self.seq } else { 0 };
            let head = JournalHead { segment: self.segment, after, ..self.options.head.clone() };
            lines.extend(encode_head(&head).map_err(self.unwritable_error())?);
        }
        lines.extend(self.encode_claim_line()?);
        self.append_bytes(&lines)
    }

    fn encode_group_line(
        &self,
        at: u64,
        items: &[NewRecordItem<'_>],
    ) -> Result<Vec<u8>, JournalError> {
        let safe = (self.options.durability == Durability::Synced).then_some(self.synced_seq);
        let group = NewRecordGroup { seq: self.seq + 1, at, epoch: self.epoch, safe, items };
        encode_group(&group).map_err(self.unwritable_error())
    }

    fn encode_claim_line(&self) -> Result<Vec<u8>, JournalError> {
        let JournalOpenOptions { holder, at, .. } = &self.options;
        let claim = WriterClaim { epoch: self.epoch, holder: holder.clone(), at: *at };
        encode_claim(&claim).map_err(self.unwritable_error())
    }

    /// Appends bytes, or undoes a partial write.
    fn append_bytes(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        self.check_files_in_place()?;
        if let Err(error) = self.file.append(bytes) {
            // Half a line must not remain: the next one would be joined to it.
            self.is_broken = self.file.set_len(self.whole_bytes).is_err();
            return Err(self.disk_error("written")(error));
        }
        self.whole_bytes += u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        Ok(())
    }

    /// Another program may have truncated, replaced or moved the file. Appended records would then
    /// follow a hole, or be written to a file that is never read. If it only appended bytes, those
    /// count as damage, and the next record starts on a new line.
    fn check_files_in_place(&mut self) -> Result<(), JournalError> {
        let path = segment::segment_path(&self.path, self.segment);
        let mut checked = self.file.check_in_place(&path, Some(self.whole_bytes));
        if let Err(JournalFileChange::Extended { length }) = checked
            && self.file.append(b"\n").is_ok()
        {
            self.whole_bytes = length + 1;
            checked = Ok(());
        }
        if let (Ok(()), Some(lock)) = (checked, &self.lock) {
            checked = lock.check_in_place(&self.path, None);
        }
        checked.map_err(|change| JournalError::Changed { path, change })
    }

    /// The file could not be synced: continues in a new one, with the unacknowledged lines. The old
    /// file is not used again, because a second sync may falsely succeed.
    fn switch_segment(&mut self, error: io::Error) -> Result<(), JournalError> {
        self.is_broken = true;
        let next = self.segment + 1;
        let path = segment::segment_path(&self.path, next);
        match self.begin_segment(&path, next) {
            Ok(file) => {
                let old = core::mem::replace(&mut self.file, file);
                self.lock.get_or_insert(old);
                self.segment = next;
                self.is_directory_synced = Arc::new(AtomicBool::new(true));
                self.synced_seq = self.seq;
                self.unsynced_lines = VecDeque::new();
                self.unsynced_bytes = 0;
                self.is_broken = false;
                self.warnings.push(format!(
                    "the disk could not keep the journal ({error}); it goes on in {}",
                    path.display()
                ));
                Ok(())
            }
            // Report the first failure, because the second one follows from it.
            Err(_) => Err(self.disk_error("made durable")(error)),
        }
    }

    fn begin_segment(
        &mut self,
        path: &Path,
        number: u64,
    ) -> Result<Box<dyn DiskFile>, JournalError> {
        let head =
            JournalHead { segment: number, after: self.synced_seq, ..self.options.head.clone() };
        let mut lines = encode_head(&head).map_err(self.unwritable_error())?;
        lines.extend(self.encode_claim_line()?);
        for (_, line) in &self.unsynced_lines {
            lines.extend(line);
        }
        let disk = &self.options.disk;
        let failed = |error| JournalError::disk_error(path, "begun")(error);
        if number > segment::SEGMENTS_MAX {
            return Err(failed(io::Error::other("the journal has too many files")));
        }
        let mut file = disk.open(path, DiskOpenMode::New).map_err(failed)?;
        file.append(&lines).map_err(failed)?;
        file.sync().map_err(failed)?;
        disk.sync_directory_of(path).map_err(failed)?;
        self.whole_bytes = u64::try_from(lines.len()).unwrap_or(u64::MAX);
        Ok(file)
    }

    fn disk_error(&self, action: &'static str) -> impl FnOnce(io::Error) -> JournalError + use<> {
        let path = segment::segment_path(&self.path, self.segment);
        move |source| JournalError::disk_error(&path, action)(source)
    }

    fn unwritable_error(&self) -> impl FnOnce(serde_json::Error) -> JournalError + use<> {
        let path = self.path.clone();
        move |source| JournalError::Unwritable { path, source }
    }
}
