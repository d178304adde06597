//! Locks the first file of a journal against writers. The lock ends with the process.

use std::fs::TryLockError;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::disk::{DiskFile, DiskOpenMode, JournalDisk, RealDisk};
use crate::error::{JournalError, check_journal_file};
use crate::journal_reader::{JournalEntry, JournalReader};
use crate::record::ClaimHolder;

/// A journal that no other process can write while this exists.
#[derive(Debug)]
pub struct LockedJournal {
    pub(crate) path: PathBuf,
    pub(crate) lock: Box<dyn DiskFile>,
}

/// Locks a journal without writing to it.
pub fn lock_journal(journal: &Path) -> Result<LockedJournal, JournalError> {
    Ok(LockedJournal { path: journal.to_owned(), lock: lock_existing(journal, &RealDisk)? })
}

/// Locks a journal without writing to it, as long as the returned file is open.
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

/// Opens and locks the first file, or returns who holds the lock. Waits up to this long for a live
/// process, because it may be about to exit.
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
                // Another process may have moved it between opening and locking.
                return match file.check_in_place(path, None) {
                    Ok(()) => Ok(file),
                    Err(change) => Err(JournalError::Changed { path: path.to_owned(), change }),
                };
            }
            Err(TryLockError::WouldBlock) => {
                let holder = JournalReader::open_on(disk, path).ok().and_then(read_last_holder);
                // Without a claim, the other process may only be checking whether the journal is
                // locked.
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

/// If a process is killed while it spawns another, the child holds the lock until it calls exec.
const ORPHAN_LOCK_WAIT: Duration = Duration::from_secs(2);
/// How long the next writer of a session waits for the previous one.
pub(crate) const PREDECESSOR_WAIT: Duration = Duration::from_secs(2);
const ORPHAN_LOCK_POLL: Duration = Duration::from_millis(5);
/// The holder is read from the journal each time, which may be long.
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
