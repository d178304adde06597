//! Files that follow the sessions of a store, for `windlass --store URL view`: the viewer shows files as
//! they grow, so its list is that of the fleet.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::store::{FleetStore, JournalPiece, ViewedSession};
use crate::worker::report_line;

/// Writes what is new in the store to the files, until it is dropped.
pub(crate) async fn follow_store(mut view: StoreView, store: FleetStore) {
    let mut was_reached = true;
    loop {
        tokio::time::sleep(REFRESH_INTERVAL).await;
        let refreshed = view.refresh(&store).await;
        if let (Err(words), true) = (&refreshed, was_reached) {
            report_line(&format!("the list is not up to date: {words}"));
        }
        was_reached = refreshed.is_ok();
    }
}

/// The folder with the sessions' files, and what is in them.
pub(crate) struct StoreView {
    folder: PathBuf,
    sessions: BTreeMap<String, ViewedFiles>,
    /// The newest change that was seen, in milliseconds.
    newest: i64,
    /// Bytes that were written.
    bytes: u64,
}

#[derive(Default)]
struct ViewedFiles {
    updated_millis: i64,
    is_running: bool,
    title: Option<String>,
    /// Their names in the store, and how many bytes of each are here.
    lengths: BTreeMap<String, u64>,
    /// Locked while a worker has the session: so the viewer knows that it is written.
    writing: Option<File>,
}

impl StoreView {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder, sessions: BTreeMap::new(), newest: 0, bytes: 0 }
    }

    pub(crate) async fn refresh(&mut self, store: &FleetStore) -> Result<(), String> {
        let open: Vec<String> = self
            .sessions
            .iter()
            .filter(|(_, files)| files.is_running)
            .map(|(id, _)| id.clone())
            .collect();
        let rows = match self.newest {
            0 => store.list_viewed_sessions(SESSIONS_MAX).await,
            newest => store.list_changed_sessions(newest, &open, SESSIONS_MAX).await,
        };
        for row in rows.map_err(|error| error.to_string())? {
            let files = self.sessions.get(&row.id);
            let is_known = files.is_some_and(|files| {
                files.updated_millis == row.updated_millis && files.is_running == row.is_running
            });
            // Many sessions are kept, but not any number: the newest are what the list is for.
            let is_full =
                files.is_none() && (self.sessions.len() >= FILES_MAX || self.bytes >= BYTES_MAX);
            if !is_known && !is_full {
                self.update_session(store, &row).await?;
            }
            self.newest = self.newest.max(row.updated_millis);
        }
        Ok(())
    }

    async fn update_session(
        &mut self,
        store: &FleetStore,
        row: &ViewedSession,
    ) -> Result<(), String> {
        let files = self.sessions.entry(row.id.clone()).or_default();
        let mut is_complete = false;
        while !is_complete {
            let known: Vec<(String, u64)> =
                files.lengths.iter().map(|(name, length)| (name.clone(), *length)).collect();
            let read = store.read_journal_pieces(&row.id, &known, PIECES_MAX).await;
            let pieces = read.map_err(|error| error.to_string())?;
            is_complete = pieces.len() < PIECES_MAX as usize;
            for piece in &pieces {
                // `session.jsonl` becomes `ID.jsonl`, the name of a session's journal on one machine.
                let path = self.folder.join(piece.file.replacen("session", &row.id, 1));
                write_piece(&path, piece)
                    .map_err(|error| format!("{}: {error}", path.display()))?;
                let length = piece.bytes.len() as u64;
                let end = piece.position + length;
                self.bytes += length;
                files.lengths.insert(piece.file.clone(), end);
            }
        }
        let main = self.folder.join(format!("{}.jsonl", row.id));
        if files.title != row.title
            && let Some(title) = &row.title
            && std::fs::write(main.with_extension("title"), title).is_ok()
        {
            files.title.clone_from(&row.title);
        }
        match (row.is_running, &files.writing) {
            (true, None) => {
                files.writing = File::open(&main).ok().filter(|file| file.try_lock().is_ok());
            }
            (false, Some(_)) => files.writing = None,
            (true, Some(_)) | (false, None) => {}
        }
        files.updated_millis = row.updated_millis;
        files.is_running = row.is_running;
        Ok(())
    }
}

fn write_piece(path: &Path, piece: &JournalPiece) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut file = OpenOptions::new().create(true).truncate(false).write(true).open(path)?;
    // A worker that took over may have cut the end off that was here before.
    file.set_len(piece.position)?;
    file.seek(SeekFrom::Start(piece.position))?;
    file.write_all(&piece.bytes)
}

const REFRESH_INTERVAL: Duration = Duration::from_secs(1);
const SESSIONS_MAX: u32 = 500;
const FILES_MAX: usize = 5_000;
const BYTES_MAX: u64 = 4 << 30;
const PIECES_MAX: u32 = 200;
