//! Tracks which sessions need a snapshot store, and removes what none needs any more.
//!
//! Every session that takes snapshots registers its change log in the store. A session whose log is
//! gone was deleted. Near its size limit the store drops the snapshots of ended sessions, least
//! recently written first; never those of an open session, or of a trial that may still be applied.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use windlass_journal::project_key::project_key;
use windlass_journal::session_catalogue::is_being_written;
use windlass_journal::{Durability, SessionTrash, SnapshotLimits, SnapshotStore};
use windlass_workspace::{SnapshotId, Workspace, WorkspaceError};

/// Registers a session as a user of the store.
pub(super) fn register_session(store: &Path, change_log: &Path) -> io::Result<()> {
    let _lock = lock_list(store)?;
    if read_registered(store).iter().any(|known| known == change_log) {
        return Ok(());
    }
    let Some(text) = change_log.to_str().filter(|text| !text.contains('\n')) else {
        return Err(io::Error::other("the path of the session is not text"));
    };
    let mut options = fs::OpenOptions::new();
    let mut file = options.create(true).append(true).mode(0o600).open(list_path(store))?;
    file.write_all(format!("{text}\n").as_bytes())
}

/// Registers a session that begins with the snapshots of another one. `stores` is the folder of all
/// stores. Blocks.
///
/// # Errors
///
/// What the session changed cannot be read, or a store cannot be written.
pub fn register_fork(stores: &Path, change_log: &Path) -> io::Result<()> {
    let opened = SnapshotStore::open(change_log, Durability::Written, SnapshotLimits::default());
    let spans = opened.map_err(io::Error::other)?.spans();
    let roots: BTreeSet<PathBuf> = spans.into_iter().map(|span| span.root).collect();
    let stores = roots.iter().map(|root| stores.join(project_key(root)));
    stores.filter(|store| store.is_dir()).try_for_each(|store| register_session(&store, change_log))
}

/// Limits on the size and age of snapshots.
#[derive(Clone, Copy, Debug)]
pub(super) struct GarbageBounds {
    pub(super) bytes_max: u64,
    pub(super) age_max: Option<Duration>,
}

/// The change logs of all registered sessions, including those in the trash.
pub(super) fn list_change_logs(store: &Path) -> Vec<PathBuf> {
    let registered = read_registered(store);
    registered.iter().filter_map(|path| find_folder(path).ok().flatten()).collect()
}

/// Whether another session is currently open in the same directory.
pub(super) fn has_other_writer(store: &Path, own: &Path) -> bool {
    let registered = read_registered(store);
    let mut others = registered.iter().filter(|path| path.as_path() != own);
    others.any(|path| is_being_written(&path.with_extension("jsonl")))
}

/// Removes what no session needs, if a session is gone or too old, or the store is near its limit.
/// Returns the bytes freed. While a session cannot be read, only the limit makes it remove anything.
pub(super) fn collect_garbage(
    workspace: &mut Workspace,
    store: &Path,
    bounds: GarbageBounds,
    own: &Path,
) -> Result<u64, WorkspaceError> {
    let GarbageBounds { bytes_max, age_max } = bounds;
    let registered = read_registered(store);
    let is_crowded = workspace.usage().bytes > bytes_max / 4 * 3;
    let mut kept = Vec::new();
    for path in &registered {
        match RegisteredSession::read(path) {
            Ok(session) => kept.extend(session),
            Err(_) if is_crowded => {}
            Err(_) => return Ok(0),
        }
    }
    kept.retain(|session| !session.is_older_than(age_max) || !session.is_over(own));
    if kept.len() == registered.len() && !is_crowded {
        return Ok(0);
    }
    let held = list_held(store);
    let list_live = |kept: &[RegisteredSession]| -> Vec<SnapshotId> {
        let needed = kept.iter().flat_map(|session| &session.snapshots);
        needed.chain(held.iter().flat_map(|one| &one.snapshots)).copied().collect()
    };
    let mut freed = workspace.forget(&list_live(&kept))?;
    kept.sort_by_key(|session| session.written);
    while workspace.usage().bytes > bytes_max / 2 && is_crowded {
        let Some(place) = kept.iter().position(|session| session.is_over(own)) else { break };
        kept.remove(place);
        freed += workspace.forget(&list_live(&kept))?;
    }
    let is_kept = |path: &PathBuf| kept.iter().any(|session| session.change_log == *path);
    let dropped: Vec<PathBuf> = registered.into_iter().filter(|path| !is_kept(path)).collect();
    // If this fails, the next collection finds and drops them again.
    let _ = unregister_sessions(store, &dropped);
    Ok(freed)
}

/// Snapshots that are needed as long as this folder is there: those of a trial.
struct HeldSnapshots {
    holder: PathBuf,
    snapshots: Vec<SnapshotId>,
}

impl HeldSnapshots {
    fn parse(line: &str) -> Option<Self> {
        let (snapshots, holder) = line.split_once('\t')?;
        let snapshots = snapshots.split(' ').filter_map(|name| name.parse().ok()).collect();
        Some(Self { holder: PathBuf::from(holder), snapshots })
    }

    fn is_there(&self) -> bool {
        !self.holder.symlink_metadata().is_err_and(|error| is_absent(&error))
    }
}

/// Keeps snapshots until this folder is removed.
pub(super) fn hold_snapshots(
    store: &Path,
    holder: &Path,
    snapshots: &[SnapshotId],
) -> io::Result<()> {
    let _lock = lock_list(store)?;
    let Some(holder) = holder.to_str().filter(|text| !text.contains('\n')) else {
        return Err(io::Error::other("the path of the trial is not text"));
    };
    let text = fs::read_to_string(holders_path(store)).unwrap_or_default();
    let is_there = |line: &&str| HeldSnapshots::parse(line).is_some_and(|held| held.is_there());
    let mut lines: String = text.lines().filter(is_there).map(|line| format!("{line}\n")).collect();
    let names: Vec<String> = snapshots.iter().map(SnapshotId::to_string).collect();
    lines.push_str(&format!("{}\t{holder}\n", names.join(" ")));
    let temporary = holders_path(store).with_extension("new");
    fs::write(&temporary, lines)?;
    fs::rename(&temporary, holders_path(store))
}

fn list_held(store: &Path) -> Vec<HeldSnapshots> {
    let text = fs::read_to_string(holders_path(store)).unwrap_or_default();
    text.lines().filter_map(HeldSnapshots::parse).filter(HeldSnapshots::is_there).collect()
}

/// Removes these sessions from the list, keeping those that other processes have added meanwhile.
fn unregister_sessions(store: &Path, dropped: &[PathBuf]) -> io::Result<()> {
    let _lock = lock_list(store)?;
    let kept = read_registered(store).into_iter().filter(|path| !dropped.contains(path));
    let lines: String = kept.map(|path| format!("{}\n", path.display())).collect();
    let temporary = list_path(store).with_extension("new");
    fs::write(&temporary, lines)?;
    fs::rename(&temporary, list_path(store))
}

/// Held only while the list is changed.
fn lock_list(store: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    let file = options.create(true).append(true).mode(0o600).open(store.join("sessions-lock"))?;
    for _ in 0..LOCK_TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(fs::TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
            Err(fs::TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::other("another process holds the list of sessions"))
}

const LOCK_PAUSE: Duration = Duration::from_millis(5);
/// With the pause, two seconds: a suspended process must not block others.
const LOCK_TRIES: usize = 400;

struct RegisteredSession {
    change_log: PathBuf,
    written: SystemTime,
    snapshots: Vec<SnapshotId>,
}

impl RegisteredSession {
    /// `None` if it was deleted, from the trash too.
    fn read(change_log: &Path) -> io::Result<Option<Self>> {
        let Some(folder) = find_folder(change_log)? else { return Ok(None) };
        let written = folder.join("log").metadata()?.modified()?;
        let opened = SnapshotStore::open(&folder, Durability::Written, SnapshotLimits::default());
        let spans = opened.map_err(io::Error::other)?.spans();
        let names = spans.iter().flat_map(|span| std::iter::once(&span.from).chain(&span.to));
        let snapshots = names.filter_map(|name| name.parse().ok()).collect();
        Ok(Some(Self { change_log: change_log.to_owned(), written, snapshots }))
    }

    fn is_older_than(&self, age_max: Option<Duration>) -> bool {
        let age = SystemTime::now().duration_since(self.written).ok();
        age_max.is_some_and(|max| age.is_some_and(|age| age > max))
    }

    /// Whether it is neither open nor the calling session.
    fn is_over(&self, own: &Path) -> bool {
        self.change_log != own && !is_being_written(&self.change_log.with_extension("jsonl"))
    }
}

/// The folder of the change log: in its place, or in the trash, from which a session may be
/// restored. An error says that it cannot be known.
fn find_folder(change_log: &Path) -> io::Result<Option<PathBuf>> {
    let in_trash = || {
        let sessions = change_log.parent()?.parent()?;
        let trash = SessionTrash::for_sessions(sessions).root().join(change_log.file_stem()?);
        Some(trash.join(change_log.file_name()?))
    };
    for folder in [Some(change_log.to_owned()), in_trash()].into_iter().flatten() {
        match folder.join("log").metadata() {
            Ok(found) if found.is_file() => return Ok(Some(folder)),
            Ok(_) => {}
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Removes stores that are not in use and whose sessions were all deleted. Returns their number.
/// Blocks.
pub fn remove_unused_stores(stores: &Path) -> usize {
    let Ok(entries) = fs::read_dir(stores) else { return 0 };
    let is_unused = |store: &PathBuf| {
        let registered = read_registered(store);
        if !list_held(store).is_empty() {
            return false;
        }
        match registered.is_empty() {
            // Either new, or left by a process killed before it registered.
            true => is_older_than_a_day(store),
            false => registered.iter().all(|path| matches!(find_folder(path), Ok(None))),
        }
    };
    let unused = entries.flatten().map(|entry| entry.path()).filter(is_unused);
    unused.filter(|store| windlass_workspace::remove_store(store).is_ok()).count()
}

fn is_older_than_a_day(store: &Path) -> bool {
    let changed = store.metadata().and_then(|found| found.modified()).ok();
    let age = changed.and_then(|changed| SystemTime::now().duration_since(changed).ok());
    age.is_some_and(|age| age > Duration::from_secs(24 * 60 * 60))
}

fn read_registered(store: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(list_path(store)).unwrap_or_default();
    let mut paths: Vec<PathBuf> = text.lines().map(PathBuf::from).collect();
    paths.sort();
    paths.dedup();
    paths
}

fn list_path(store: &Path) -> PathBuf {
    store.join("sessions")
}

fn holders_path(store: &Path) -> PathBuf {
    store.join("holders")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_lost_from_the_list_while_others_are_taken_off_it() {
        let store = tempfile::tempdir().expect("a folder");
        let path = |kind: &str, number: usize| PathBuf::from(format!("/{kind}/{number}.kept"));
        std::thread::scope(|scope| {
            for worker in 0..4 {
                let store = store.path();
                scope.spawn(move || {
                    for number in (worker * 20)..(worker * 20 + 20) {
                        register_session(store, &path("stays", number)).expect("registered");
                        register_session(store, &path("goes", number)).expect("registered");
                        unregister_sessions(store, &[path("goes", number)]).expect("taken off");
                    }
                });
            }
        });
        let mut expected: Vec<PathBuf> = (0..80).map(|number| path("stays", number)).collect();
        expected.sort();
        assert_eq!(read_registered(store.path()), expected);
    }
}
