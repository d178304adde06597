//! A copy of a session to go on in. The original is only read, and may go on meanwhile.
//!
//! In the same directory, what the original did to files until then can be taken back in the copy,
//! too.
//!
//! Long outputs are shared by both. Some are named in the conversation by the place they had in the
//! original, so that place stays readable for the copy as long as it is there.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use windlass_driver::snapshot::register_fork;
use windlass_host::command_error::CommandError;
use windlass_journal::snapshot_store::fork_history;
use windlass_journal::{JournalEntry, JournalReader, SnapshotStore, session_catalogue};
use windlass_vocabulary::SessionId;

use super::journal_error;
use super::snapshots::STORES_FOLDER;

/// Copies the journal, the long outputs that the model may read back, and the history of files unless
/// the copy works elsewhere: in `project`.
pub(super) fn fork_session(
    source: &Path,
    until: Option<u64>,
    journal: &Path,
    id: &str,
    project: Option<&Path>,
) -> Result<(), CommandError> {
    let session = SessionId::from(id);
    session_catalogue::fork_journal(source, until, journal, &session, project, now_millis())
        .map_err(|error| journal_error(&error))?;
    if project.is_none() {
        copy_history(source, until, journal)?;
    }
    let from = source.with_extension("spill");
    let to = journal.with_extension("spill");
    let Ok(entries) = fs::read_dir(&from) else {
        return Ok(());
    };
    fs::create_dir_all(&to).map_err(|error| copy_failed_error(&to, &error))?;
    for entry in
        entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
    {
        let copy = to.join(entry.file_name());
        // They are written once and never changed, so both sessions may share them.
        if fs::hard_link(entry.path(), &copy).is_err() {
            fs::copy(entry.path(), &copy).map_err(|error| copy_failed_error(&copy, &error))?;
        }
    }
    Ok(())
}

fn copy_history(source: &Path, until: Option<u64>, journal: &Path) -> Result<(), CommandError> {
    fork_history(source, journal, until).map_err(|error| journal_error(&error))?;
    let change_log = SnapshotStore::folder_for(journal);
    if let Some(state) = journal.ancestors().nth(3).filter(|_| change_log.is_dir()) {
        register_fork(&state.join(STORES_FOLDER), &change_log)
            .map_err(|error| copy_failed_error(&change_log, &error))?;
    }
    Ok(())
}

/// The time: milliseconds since 1970.
pub(super) fn now_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The directories with long outputs of the sessions this one was forked from.
pub(super) fn find_inherited_spills(journal: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut journal = journal.to_owned();
    for _ in 0..ANCESTORS_MAX {
        let Some(parent) = find_parent_journal(&journal) else { break };
        found.push(parent.with_extension("spill"));
        journal = parent;
    }
    found
}

/// The journal this one was copied from: in the same folder, or in that of another project.
fn find_parent_journal(journal: &Path) -> Option<PathBuf> {
    let mut reader = JournalReader::open(journal).ok()?;
    let Some(Ok(JournalEntry::Head(head))) = reader.next_entry().ok()? else { return None };
    let (session, _) = head.parent?;
    let name = format!("{session}.jsonl");
    let folder = journal.parent()?;
    let others = fs::read_dir(folder.parent()?).into_iter().flatten().flatten();
    let mut places =
        std::iter::once(folder.join(&name)).chain(others.map(|entry| entry.path().join(&name)));
    places.find(|path| path.is_file())
}

/// Copies of copies that are looked through.
const ANCESTORS_MAX: usize = 16;

fn copy_failed_error(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::failure(format!(
        "the copy of the session could not be finished at {}: {error}; make room and try again",
        path.display()
    ))
}
