//! The sessions of a store as files, for one command: laid out as on one machine, and removed when
//! the command ends.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use windlass_host::command_error::CommandError;
use windlass_host::environment::process_environment;
use windlass_host::{random, user_directories};
use windlass_journal::project_key::project_key;

use super::RemovedOnDrop;
use crate::store::{FleetStore, LocalSessionRow};
use crate::store_transfer::write_session;

pub(crate) struct SessionFolder {
    folder: RemovedOnDrop,
    /// Held, so that later commands can tell a folder in use from one that was left behind.
    _lock: File,
    /// The names of the sessions that were written here, by id.
    exported: Mutex<BTreeMap<String, Option<String>>>,
}

impl SessionFolder {
    /// Makes an empty folder below the state directory, which no command of a model can read.
    pub(crate) fn make() -> Result<Self, CommandError> {
        let state = user_directories::state_directory(&process_environment)
            .ok_or_else(|| CommandError::failure("HOME is not set to an absolute path; set it"))?;
        let stores = state.join("stores");
        let words = |error: std::io::Error| {
            CommandError::failure(format!("{} cannot be used: {error}", stores.display()))
        };
        DirBuilder::new().recursive(true).mode(0o700).create(&stores).map_err(words)?;
        remove_leftovers(&stores);
        let path = stores.join(random::generate_name());
        DirBuilder::new().mode(0o700).create(&path).map_err(words)?;
        let folder = RemovedOnDrop(path);
        let lock = File::create(folder.path().join(LOCK_NAME)).map_err(words)?;
        lock.lock().map_err(words)?;
        let sessions = folder.path().join("sessions");
        std::fs::create_dir(&sessions).map_err(words)?;
        // Nothing in it is old enough to be cleaned up, whatever its dates say.
        File::create(sessions.join("swept")).map_err(words)?;
        Ok(Self { folder, _lock: lock, exported: Mutex::default() })
    }

    pub(crate) fn sessions(&self) -> PathBuf {
        self.folder.path().join("sessions")
    }

    /// A folder for sessions of any project.
    pub(crate) fn make_project(&self) -> Result<PathBuf, String> {
        let cwd = std::env::current_dir().and_then(std::fs::canonicalize);
        let cwd = cwd.map_err(|error| format!("the current directory: {error}"))?;
        let folder = self.sessions().join(project_key(&cwd));
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(folder)
    }

    /// Writes the sessions of the current directory that no fleet runs, and those that the
    /// arguments name by their id.
    pub(crate) async fn export(
        &self,
        store: &FleetStore,
        arguments: &[OsString],
    ) -> Result<(), String> {
        let cwd = std::env::current_dir().and_then(std::fs::canonicalize);
        let cwd = cwd.map_err(|error| format!("the current directory: {error}"))?;
        let words = |error: crate::store::StoreError| error.to_string();
        let mut rows = Vec::new();
        if arguments.iter().any(may_name_older) {
            let is_all = arguments.iter().any(|word| word == "--all");
            let known =
                store.list_local_sessions(find_searched(arguments).as_deref(), SESSIONS_MAX).await;
            let known = known.map_err(words)?;
            let is_here = |row: &LocalSessionRow| {
                is_all || row.project.as_deref().map(Path::new) == Some(&cwd)
            };
            rows.extend(known.into_iter().filter(is_here));
        }
        for prefix in arguments.iter().filter_map(find_id_prefix) {
            rows.extend(
                store.find_sessions_by_prefix(&prefix, PREFIX_MATCHES_MAX).await.map_err(words)?,
            );
        }
        let mut bytes = 0;
        for row in rows {
            let is_known = self.lock_exported().contains_key(&row.id);
            if !is_known {
                bytes += self.export_session(store, &row, &cwd).await?;
            }
            if bytes > EXPORT_BYTES_MAX {
                return Err("the sessions of this directory are too large to be copied; name one \
                            by its id"
                    .to_owned());
            }
        }
        Ok(())
    }

    /// Returns the number of bytes.
    async fn export_session(
        &self,
        store: &FleetStore,
        row: &LocalSessionRow,
        cwd: &Path,
    ) -> Result<u64, String> {
        let project = row.project.as_deref().filter(|_| row.is_local).map_or(cwd, Path::new);
        let folder = self.sessions().join(project_key(project));
        let files = write_session(store, &row.id, &folder).await?;
        let when = u64::try_from(row.updated_millis).unwrap_or(0);
        let when = SystemTime::UNIX_EPOCH + Duration::from_millis(when);
        let mut bytes = 0;
        for path in files {
            let file = File::options().append(true).open(&path);
            let length = file.and_then(|file| {
                file.set_modified(when)?;
                Ok(file.metadata()?.len())
            });
            bytes += length.map_err(|error| format!("{}: {error}", path.display()))?;
        }
        if let Some(title) = &row.title {
            let path = folder.join(format!("{}.title", row.id));
            std::fs::write(&path, title).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        self.lock_exported().insert(row.id.clone(), row.title.clone());
        Ok(bytes)
    }

    /// Brings new names of sessions into the store.
    pub(crate) async fn import_titles(&self, store: &FleetStore) -> Result<(), String> {
        let before = self.lock_exported().clone();
        for (id, journal) in self.find_journals() {
            let title = std::fs::read_to_string(journal.with_extension("title")).ok();
            if before.get(&id).cloned().flatten() != title {
                let set = store.set_local_title(&id, title.as_deref()).await;
                set.map_err(|error| error.to_string())?;
            }
        }
        Ok(())
    }

    /// Deletes the sessions from the store that a command has deleted here.
    pub(crate) async fn import_deletions(&self, store: &FleetStore) -> Result<(), String> {
        let left = self.find_journals();
        let before = self.lock_exported().clone();
        for id in before.keys().filter(|id| !left.contains_key(*id)) {
            store.delete_idle_session(id).await.map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// The journals of all projects, by their session's id.
    fn find_journals(&self) -> BTreeMap<String, PathBuf> {
        let entries = |path: &Path| std::fs::read_dir(path).into_iter().flatten().flatten();
        let files = entries(&self.sessions()).flat_map(|project| entries(&project.path()));
        let journals = files.filter_map(|file| {
            let name = file.file_name().to_string_lossy().into_owned();
            let id = name.strip_suffix(".jsonl").filter(|id| !id.contains('.'))?;
            Some((id.to_owned(), file.path()))
        });
        journals.collect()
    }

    fn lock_exported(&self) -> MutexGuard<'_, BTreeMap<String, Option<String>>> {
        self.exported.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes what commands left behind that were killed.
fn remove_leftovers(stores: &Path) {
    for entry in std::fs::read_dir(stores).into_iter().flatten().flatten() {
        let lock = File::open(entry.path().join(LOCK_NAME));
        // A folder without a lock is just being made.
        if lock.is_ok_and(|lock| lock.try_lock().is_ok()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether a session may be meant without its id: the newest, by its name, or all. A plain `-p` with
/// a prompt needs none, and copies none.
fn may_name_older(word: impl AsRef<OsStr>) -> bool {
    let word = word.as_ref().to_string_lossy();
    match word.strip_prefix('-') {
        Some(flag) if flag.starts_with('-') => {
            ["-continue", "-resume", "-fork-session", "-all"].iter().any(|it| flag.starts_with(it))
        }
        // A cluster of short flags, such as `-pc`.
        Some(flags) => flags.contains(['c', 'r']),
        None => COMMANDS.contains(&&*word),
    }
}

/// What `sessions search` looks for. Only sessions that may have it are copied.
fn find_searched(arguments: &[OsString]) -> Option<String> {
    match arguments {
        [sessions, search, words, ..] if sessions == "sessions" && search == "search" => {
            let words = words.to_str().filter(|words| !words.starts_with('-'))?;
            Some(words.to_lowercase())
        }
        _ => None,
    }
}

/// The beginning of a session's id.
fn find_id_prefix(word: impl AsRef<OsStr>) -> Option<String> {
    let word = word.as_ref().to_string_lossy();
    let word = word.strip_prefix("--resume=").unwrap_or(&word).to_ascii_lowercase();
    let is_id = word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    (is_id && (4..=36).contains(&word.len()) && !word.starts_with('-')).then_some(word)
}

const LOCK_NAME: &str = "lock";
const COMMANDS: &[&str] =
    &["sessions", "why", "replay", "cost", "context", "stats", "export", "bugreport", "resume"];
const SESSIONS_MAX: i64 = 2_000;
const PREFIX_MATCHES_MAX: i64 = 20;
const EXPORT_BYTES_MAX: u64 = 4 << 30;
