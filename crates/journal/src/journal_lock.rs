//! Keeps writers out of a journal: its first file is locked, and the lock dies with the process.

use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::disk::{DiskFile, DiskOpenMode, JournalDisk, RealDisk};
use crate::error::{JournalError, check_journal_file};
use crate::journal_reader::{JournalEntry, JournalReader};
use crate::record::ClaimHolder;

/// A journal that no other process can write as long as this lives.
#[derive(Debug)]
pub struct LockedJournal {
    pub(crate) path: PathBuf,
    pub(crate) lock: Box<dyn DiskFile>,
}

/// Keeps writers out of a journal, without writing to it.
pub fn lock_journal(journal: &Path) -> Result<LockedJournal, JournalError> {
    Ok(LockedJournal { path: journal.to_owned(), lock: lock_existing(journal, &RealDisk)? })
}

/// Keeps writers out of a journal as long as the file lives, without writing to it.
pub(crate) fn lock_existing(
    path: &Path,
    disk: &dyn JournalDisk,
) -> Result<Box<dyn DiskFile>, JournalError> {
    check_journal_file(path)?;
    if !disk.exists(path) {
        return Err(JournalError::disk_error(path, "opened")(io::ErrorKind::NotFound.into()));
    }
    lock_first_file(disk, path, DiskOpenMode::AppendExisting, Duration::ZERO)
}

/// Opens the first file and locks it, or says who has. A process that lives is waited for at most this
/// long: one that was told to end may still be at it.
pub(crate) fn lock_first_file(
    disk: &dyn JournalDisk,
    path: &Path,
    mode: DiskOpenMode,
    live_wait: Duration,
) -> Result<Box<dyn DiskFile>, JournalError> {
    let opened = disk.open(path, mode);
    let mut file = opened.map_err(JournalError::disk_error(path, "opened"))?;
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => {
                // Another process may have moved it away between our opening and our locking it.
                return match file.check_in_place(path, None) {
                    Ok(()) => Ok(file),
                    Err(change) => Err(JournalError::Changed { path: path.to_owned(), change }),
                };
            }
            Err(TryLockError::WouldBlock) => {
                let holder = JournalReader::open_on(disk, path).ok().and_then(read_last_holder);
                // No claim yet: the other process may only be checking whether the journal is locked.
                let is_left = holder.as_ref().is_none_or(ClaimHolder::is_dead);
                let wait = if is_left { ORPHAN_LOCK_WAIT } else { live_wait };
                if began.elapsed() >= wait {
                    return Err(JournalError::Busy { path: path.to_owned(), holder });
                }
                std::thread::sleep(if is_left { ORPHAN_LOCK_POLL } else { LIVE_LOCK_POLL });
            }
            Err(TryLockError::Error(source)) => {
                return Err(JournalError::disk_error(path, "locked")(source));
            }
        }
    }
}

/// A process that is killed while it starts another leaves the lock with that one until it has begun.
const ORPHAN_LOCK_WAIT: Duration = Duration::from_secs(2);
/// How long the next writer of a session waits for the one before it.
pub(crate) const PREDECESSOR_WAIT: Duration = Duration::from_secs(2);
const ORPHAN_LOCK_POLL: Duration = Duration::from_millis(5);
/// Who holds it is read from the journal each time, which may be long.
const LIVE_LOCK_POLL: Duration = Duration::from_millis(50);

fn read_last_holder(mut reader: JournalReader) -> Option<ClaimHolder> {
    let mut holder = None;
    while let Ok(Some(entry)) = reader.next_entry() {
        if let Ok(JournalEntry::Claim(claim)) = entry {
            holder = Some(claim.holder);
        }
    }
    holder
}
