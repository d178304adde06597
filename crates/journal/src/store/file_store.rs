//! Journals as files of one directory: `<session>.jsonl`, with a file lock for one writer.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use windlass_vocabulary::SessionId;

use super::{ClaimedSession, JournalStore, RecordIterator, is_blob_name};
use crate::disk::{RealDisk, replace_file};
use crate::durability::Durability;
use crate::error::JournalError;
use crate::journal_open_options::JournalOpenOptions;
use crate::journal_reader::JournalReader;
use crate::journal_writer::JournalWriter;
use crate::record::{JournalHead, JournalRecord, NewRecordItem};
use crate::segment;
use crate::session_catalogue::SessionCatalogue;

/// Journals in one directory.
#[derive(Debug)]
pub struct FileJournalStore {
    directory: PathBuf,
    durability: Durability,
    writers: Mutex<BTreeMap<SessionId, JournalWriter>>,
}

impl FileJournalStore {
    /// The journals of this directory.
    #[must_use]
    pub fn new(directory: impl Into<PathBuf>, durability: Durability) -> Self {
        Self { directory: directory.into(), durability, writers: Mutex::default() }
    }

    /// The first file of a session's journal.
    #[must_use]
    pub fn path(&self, session: &SessionId) -> PathBuf {
        self.directory.join(format!("{session}.jsonl"))
    }

    fn blob_path(&self, session: &SessionId, name: &str) -> Result<PathBuf, JournalError> {
        let path = self.path(session).with_extension("blobs").join(name);
        match is_blob_name(name) {
            true => Ok(path),
            false => Err(JournalError::disk_error(&path, "named")(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a name is one word of letters, digits, `.`, `_` and `-`",
            ))),
        }
    }

    fn lock_writers(&self) -> MutexGuard<'_, BTreeMap<SessionId, JournalWriter>> {
        // A writer whose thread panicked during a write reports that itself.
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read_last_seq(&self, session: &SessionId) -> Result<u64, JournalError> {
        let mut reader = JournalReader::open(&self.path(session))?;
        while reader.next_entry()?.is_some() {}
        Ok(reader.seq())
    }
}

impl JournalStore for FileJournalStore {
    fn claim(
        &self,
        session: &SessionId,
        head: &JournalHead,
    ) -> Result<ClaimedSession, JournalError> {
        let path = self.path(session);
        let mut writers = self.lock_writers();
        std::fs::create_dir_all(&self.directory)
            .map_err(JournalError::disk_error(&self.directory, "made"))?;
        let mut opening = JournalOpenOptions::new(self.durability);
        opening.head =
            JournalHead { session: Some(session.clone()), created: opening.at, ..head.clone() };
        let writer = JournalWriter::open_without_replay(&path, opening)?;
        let claimed =
            ClaimedSession { session: session.clone(), epoch: writer.epoch(), seq: writer.seq() };
        writers.insert(session.clone(), writer);
        Ok(claimed)
    }

    fn renew(&self, claimed: &ClaimedSession) -> Result<(), JournalError> {
        let writers = self.lock_writers();
        let current = writers.get(&claimed.session).map_or(0, JournalWriter::epoch);
        if current != claimed.epoch {
            return Err(JournalError::Fenced { ours: claimed.epoch, current });
        }
        Ok(())
    }

    fn append(
        &self,
        claimed: &ClaimedSession,
        expected: u64,
        at: u64,
        items: &[NewRecordItem<'_>],
    ) -> Result<u64, JournalError> {
        let mut writers = self.lock_writers();
        match writers.get_mut(&claimed.session) {
            Some(writer) if writer.epoch() == claimed.epoch => {
                if writer.seq() != expected {
                    return Err(JournalError::Conflict { expected, found: writer.seq() });
                }
                writer.append_items(at, items)
            }
            other => {
                let current = other.map_or(0, |writer| writer.epoch());
                Err(JournalError::Fenced { ours: claimed.epoch, current })
            }
        }
    }

    fn release(&self, claimed: &ClaimedSession) {
        let mut writers = self.lock_writers();
        if writers.get(&claimed.session).is_some_and(|writer| writer.epoch() == claimed.epoch) {
            writers.remove(&claimed.session);
        }
    }

    fn read_from(&self, session: &SessionId, after: u64) -> Result<RecordIterator, JournalError> {
        let mut reader = JournalReader::open(&self.path(session))?;
        let next = move || reader.next_record().transpose();
        let is_new = move |record: &Result<JournalRecord, JournalError>| match record {
            Ok(record) => record.seq > after,
            Err(_) => true,
        };
        Ok(Box::new(core::iter::from_fn(next).filter(is_new)))
    }

    fn wait_for_records(
        &self,
        session: &SessionId,
        after: u64,
        at_most: Duration,
    ) -> Result<u64, JournalError> {
        let deadline = Instant::now() + at_most;
        let path = self.path(session);
        loop {
            // Must come before reading, so that records written meanwhile are seen in the next
            // round.
            let size = read_journal_size(&path);
            let seq = self.read_last_seq(session)?;
            if seq > after {
                return Ok(seq);
            }
            loop {
                if Instant::now() >= deadline {
                    return Ok(seq);
                }
                if read_journal_size(&path) != size {
                    break;
                }
                std::thread::sleep(POLL_INTERVAL);
            }
        }
    }

    fn list(&self) -> Result<Vec<SessionId>, JournalError> {
        let entries = match std::fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(JournalError::disk_error(&self.directory, "listed"))?,
        };
        let mut found = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            // Later files of a journal have one more dot; the session is listed by its first one.
            let id = name.strip_suffix(".jsonl").filter(|id| !id.contains('.'));
            found.extend(id.map(SessionId::from));
        }
        found.sort();
        Ok(found)
    }

    fn set_title(&self, session: &SessionId, title: &str) -> Result<(), JournalError> {
        SessionCatalogue::new(&self.directory).rename(&self.path(session), title)
    }

    fn read_title(&self, session: &SessionId) -> Result<Option<String>, JournalError> {
        let path = self.path(session).with_extension("title");
        read_if_there(&path).map(|bytes| bytes.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    fn put_blob(
        &self,
        claimed: &ClaimedSession,
        name: &str,
        bytes: &[u8],
    ) -> Result<(), JournalError> {
        self.renew(claimed)?;
        let path = self.blob_path(&claimed.session, name)?;
        let folder = path.parent().unwrap_or(&path);
        std::fs::create_dir_all(folder).map_err(JournalError::disk_error(folder, "made"))?;
        replace_file(&RealDisk, &path, bytes).map_err(JournalError::disk_error(&path, "written"))
    }

    fn read_blob(&self, session: &SessionId, name: &str) -> Result<Option<Vec<u8>>, JournalError> {
        read_if_there(&self.blob_path(session, name)?)
    }
}

fn read_if_there(path: &Path) -> Result<Option<Vec<u8>>, JournalError> {
    match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(JournalError::disk_error(path, "read")),
    }
}

/// The size of all files of a journal.
fn read_journal_size(path: &Path) -> u64 {
    let later = segment::find_later_segments(&RealDisk, path);
    let paths = core::iter::once(path.to_owned()).chain(later.into_iter().map(|(_, path)| path));
    paths.filter_map(|path| path.metadata().ok()).map(|metadata| metadata.len()).sum()
}

/// How often a waiting reader polls a file. Network file systems send no notifications.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
