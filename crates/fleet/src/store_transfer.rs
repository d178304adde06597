//! Imports sessions into the store and exports them, in the file layout of one machine.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use windlass_host::random;
use windlass_journal::session_catalogue::fork_journal;
use windlass_journal::{ClaimHolder, JournalEntry, JournalReader, lock_journal};
use windlass_vocabulary::SessionId;

use crate::postgres_journal_store::LOCAL_TENANT;
use crate::store::{AppendRequest, FleetStore, JournalFile, MAIN_FILE, StoreError, TenantChange};

/// Imports a journal and those of its agents. Returns the session's id.
pub async fn import_session(store: &FleetStore, journal: &Path) -> Result<String, String> {
    let words = |error: std::io::Error| format!("{}: {error}", journal.display());
    // Locked, so that nothing is appended while it is read.
    let _lock = lock_journal(journal).map_err(|error| error.to_string())?;
    let id = read_session_id(journal)?;
    if store.read_session(&id).await.map_err(|error| error.to_string())?.is_some() {
        return Err(format!("the session {id} is in the store already"));
    }
    let mut files = vec![(MAIN_FILE.to_owned(), std::fs::read(journal).map_err(words)?)];
    let stem = journal.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    for number in 2..=SEGMENTS_MAX {
        let later = journal.with_file_name(format!("{stem}.{number}.jsonl"));
        if !later.exists() {
            break;
        }
        files.push((format!("session.{number}.jsonl"), std::fs::read(&later).map_err(words)?));
    }
    let agents = journal.with_extension("agents");
    for entry in std::fs::read_dir(&agents).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".jsonl") {
            let bytes = std::fs::read(entry.path()).map_err(words)?;
            files.push((format!("session.agents/{name}"), bytes));
        }
    }
    store_files(store, &id, &files).await.map_err(|error| error.to_string())?;
    Ok(id)
}

/// Writes all files, or on failure none.
async fn store_files(
    store: &FleetStore,
    id: &str,
    files: &[(String, Vec<u8>)],
) -> Result<(), StoreError> {
    let worker = random::generate_uuid();
    let host = ClaimHolder::current_process().host;
    store.put_tenant(LOCAL_TENANT, &TenantChange::default()).await?;
    store.register_worker(&worker, &host, 0, IMPORT_LEASE).await?;
    sqlx::query(
        "insert into windlass.sessions (id, tenant, state, spec, epoch, worker) \
         values ($1, $2, 'idle', '{}', 1, $3)",
    )
    .bind(id)
    .bind(LOCAL_TENANT)
    .bind(&worker)
    .execute(&store.pool)
    .await?;
    let mut outcome = Ok(());
    for (file, bytes) in files {
        let request = AppendRequest {
            session: id,
            epoch: 1,
            worker: &worker,
            file,
            position: Some(0),
            expected_seq: None,
            bytes,
        };
        outcome = store.append_journal(request).await.map(drop);
        if outcome.is_err() {
            break;
        }
    }
    let end = match outcome {
        Ok(()) => "update windlass.sessions set worker = null where id = $1",
        Err(_) => "delete from windlass.sessions where id = $1",
    };
    sqlx::query(end).bind(id).execute(&store.pool).await?;
    store.remove_worker(&worker).await?;
    outcome
}

/// Writes a session's journals to a new folder. Returns the number of files.
pub async fn export_session(
    store: &FleetStore,
    session: &str,
    folder: &Path,
) -> Result<usize, String> {
    let files = store.read_journals(session).await.map_err(|error| error.to_string())?;
    if files.is_empty() {
        return Err(format!("there is no session {session} in the store"));
    }
    let words = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir(folder).map_err(words)?;
    write_files(session, &files, folder)?;
    Ok(files.len())
}

/// Writes a session's journals and long outputs to a folder that may have others. Returns the paths
/// of the journals.
pub(crate) async fn write_session(
    store: &FleetStore,
    session: &str,
    folder: &Path,
) -> Result<Vec<PathBuf>, String> {
    let words = |error: std::io::Error| format!("{}: {error}", folder.display());
    let files = store.read_journals(session).await.map_err(|error| error.to_string())?;
    std::fs::create_dir_all(folder).map_err(words)?;
    let paths = write_files(session, &files, folder)?;
    let spills = store.read_spills(session).await.map_err(|error| error.to_string())?;
    let spill_folder = folder.join(format!("{session}.spill"));
    for (name, bytes) in spills {
        std::fs::create_dir_all(&spill_folder).map_err(words)?;
        std::fs::write(spill_folder.join(name), bytes).map_err(words)?;
    }
    Ok(paths)
}

fn write_files(
    session: &str,
    files: &[JournalFile],
    folder: &Path,
) -> Result<Vec<PathBuf>, String> {
    let words = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut paths = Vec::new();
    for file in files {
        // `session.jsonl` becomes `ID.jsonl`, the name of a session's journal on one machine.
        let name = file.name.replacen("session", session, 1);
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(words)?;
        std::fs::write(&path, &file.bytes).map_err(words)?;
        paths.push(path);
    }
    Ok(paths)
}

/// The journal of a fork: the records of a session under a head of its own. Blocks.
pub(crate) fn copy_journal(
    source: &str,
    files: &[JournalFile],
    new: &str,
) -> Result<Vec<u8>, String> {
    let folder = std::env::temp_dir().join(format!("windlass-fork-{}", random::generate_name()));
    let words = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::DirBuilder::new().mode(0o700).create(&folder).map_err(words)?;
    let copy = || {
        write_files(source, files, &folder)?;
        let copied = folder.join(format!("{new}.jsonl"));
        let journal = folder.join(format!("{source}.jsonl"));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        fork_journal(&journal, None, &copied, &SessionId::from(new), None, at)
            .map_err(|error| error.to_string())?;
        std::fs::read(&copied).map_err(words)
    };
    let bytes = copy();
    let _ = std::fs::remove_dir_all(&folder);
    bytes
}

fn read_session_id(journal: &Path) -> Result<String, String> {
    let mut reader = JournalReader::open(journal).map_err(|error| error.to_string())?;
    let first = reader.next_entry().map_err(|error| error.to_string())?;
    let Some(Ok(JournalEntry::Head(head))) = first else {
        return Err(format!("{} does not say which session it holds", journal.display()));
    };
    let id = head.session.map(|session| session.as_str().to_owned());
    let own = journal.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(id.unwrap_or(own))
}

const SEGMENTS_MAX: u64 = 1_000;
const IMPORT_LEASE: std::time::Duration = std::time::Duration::from_secs(600);
