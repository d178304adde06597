//! A store of one's own: sessions are kept in memory instead of in files. A database or an object
//! store is plugged in the same way.
//!
//! A session needs few operations: open, append, sync, lock. `JournalDisk` names them, and
//! `SessionBuilder::journal_disk` takes any implementation.

use std::collections::BTreeMap;
use std::fs::TryLockError;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_driver::engine_settings::Settings;
use windlass_driver::session_store::{DiskFile, DiskOpenMode, JournalDisk};
use windlass_driver::vocabulary::{ModelFacts, PermissionAnswer, PermissionQuestion, WireFormat};
use windlass_driver::{Durability, Endpoint, SessionBuilder};
use windlass_rehearsal::{Rehearsal, RehearsalOptions, Script, ScriptedAnswer as Says};

/// Journals by the path that the session gives them.
#[derive(Debug, Default)]
struct MemoryStore {
    journals: Mutex<BTreeMap<PathBuf, Arc<StoredJournal>>>,
}

#[derive(Debug, Default)]
struct StoredJournal {
    bytes: Mutex<Vec<u8>>,
    is_locked: AtomicBool,
}

/// An open journal.
#[derive(Debug)]
struct MemoryFile {
    journal: Arc<StoredJournal>,
    read: usize,
    has_lock: bool,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryFile {
    fn open(journal: Arc<StoredJournal>) -> Box<dyn DiskFile> {
        Box::new(Self { journal, read: 0, has_lock: false })
    }
}

impl JournalDisk for MemoryStore {
    fn open(&self, path: &Path, access: DiskOpenMode) -> io::Result<Box<dyn DiskFile>> {
        let mut journals = lock(&self.journals);
        match (journals.get(path), access) {
            (Some(_), DiskOpenMode::New) => Err(io::ErrorKind::AlreadyExists.into()),
            (None, DiskOpenMode::Read | DiskOpenMode::AppendExisting) => {
                Err(io::ErrorKind::NotFound.into())
            }
            (Some(journal), _) => Ok(MemoryFile::open(Arc::clone(journal))),
            (None, DiskOpenMode::Append | DiskOpenMode::New) => {
                let journal = journals.entry(path.to_owned()).or_default();
                Ok(MemoryFile::open(Arc::clone(journal)))
            }
        }
    }

    fn exists(&self, path: &Path) -> bool {
        lock(&self.journals).contains_key(path)
    }

    fn sync_directory_of(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut journals = lock(&self.journals);
        let journal = journals.remove(from).ok_or(io::ErrorKind::NotFound)?;
        journals.insert(to.to_owned(), journal);
        Ok(())
    }
}

impl Read for MemoryFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = lock(&self.journal.bytes);
        let count = bytes.get(self.read..).unwrap_or_default().read(buffer)?;
        self.read += count;
        Ok(count)
    }
}

impl DiskFile for MemoryFile {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        lock(&self.journal.bytes).extend_from_slice(bytes);
        Ok(())
    }

    /// A database commits here: no request leaves, and no tool starts, before this returns.
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn try_clone(&self) -> io::Result<Box<dyn DiskFile>> {
        Ok(MemoryFile::open(Arc::clone(&self.journal)))
    }

    fn set_len(&mut self, length: u64) -> io::Result<()> {
        let length = usize::try_from(length).map_err(io::Error::other)?;
        lock(&self.journal.bytes).truncate(length);
        Ok(())
    }

    /// One writer at a time; a store that many hosts share uses a lease of its own.
    fn try_lock(&mut self) -> Result<(), TryLockError> {
        if self.journal.is_locked.swap(true, Ordering::AcqRel) {
            return Err(TryLockError::WouldBlock);
        }
        self.has_lock = true;
        Ok(())
    }
}

impl Drop for MemoryFile {
    fn drop(&mut self) {
        if self.has_lock {
            self.journal.is_locked.store(false, Ordering::Release);
        }
    }
}

/// Opens the session in the store, asks one thing, and closes it again.
async fn ask(
    url: &str,
    store: &Arc<MemoryStore>,
    question: &str,
) -> Result<String, Box<dyn std::error::Error>> {
    let endpoint = Endpoint::new(WireFormat::AnthropicMessages, url);
    let (session, mut notices) =
        SessionBuilder::new(Settings::new(ModelFacts::new("some-model")), endpoint)
            // For this store the path is only a name.
            .journal("sessions/first.jsonl", Durability::Synced)
            .journal_disk(Arc::<MemoryStore>::clone(store))
            .start()?;
    let result = session.prompt(question, &mut notices, deny).await?;
    session.close().await;
    match result.ending.terminal.is_error() {
        true => Err(result.ending.why.into()),
        false => Ok(result.text),
    }
}

fn deny(_question: &PermissionQuestion) -> PermissionAnswer {
    PermissionAnswer::Deny { message: "Not here.".to_owned(), interrupt: false }
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let script =
        Script::new().answer(Says::text("I will remember it.")).answer(Says::text("It was 42."));
    let server = Rehearsal::start(script, RehearsalOptions::default()).await?;
    let store = Arc::new(MemoryStore::default());

    println!("{}", ask(&server.url(), &store, "Remember the number 42.").await?);
    println!("{}", ask(&server.url(), &store, "Which number was it?").await?);

    // The second session was continued from memory, and no file was written.
    let requests = server.requests();
    let last = requests.last().ok_or("nothing was asked")?;
    if !last.body.contains("Remember the number 42.") {
        return Err("the conversation was not continued".into());
    }
    for (name, journal) in lock(&store.journals).iter() {
        println!("{}: {} bytes", name.display(), lock(&journal.bytes).len());
    }
    match Path::new("sessions").exists() {
        true => Err("the session wrote files beside the store".into()),
        false => Ok(()),
    }
}
