//! Moves old sessions to the trash, and deletes what has been there for a week. Runs in the
//! background of an open session, at most once a day: nothing waits for it, and sessions in use are
//! left alone.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::oneshot;
use windlass_driver::snapshot::remove_unused_stores;
use windlass_driver::trial::remove_stale_trials;
use windlass_host::display::human_format::format_counted;
use windlass_journal::{ListedSession, SessionCatalogue, SessionTrash, project_key::project_key};
use windlass_telemetry::{TelemetryObserver, WiringReport};

use super::snapshots::STORES_FOLDER;
use super::trials::TRIALS_FOLDER;

/// A clean-up that is due once the session it belongs to is open: from then on its own journal is locked.
#[derive(Debug)]
pub struct SessionCleanup {
    catalogue: SessionCatalogue,
    transcripts: Option<PathBuf>,
    /// Journals in use: this session's, and the one it was copied from.
    in_use: Vec<PathBuf>,
    age: Duration,
    /// Is told what was done.
    telemetry: Option<Arc<TelemetryObserver>>,
}

/// A clean-up that has begun.
#[derive(Debug)]
pub struct RunningCleanup {
    lines: oneshot::Receiver<Vec<String>>,
}

impl SessionCleanup {
    pub(super) fn new(
        catalogue: &SessionCatalogue,
        transcripts: Option<PathBuf>,
        in_use: Vec<PathBuf>,
        days: u32,
    ) -> Self {
        let age = DAY * days.max(1);
        Self { catalogue: catalogue.clone(), transcripts, in_use, age, telemetry: None }
    }

    pub(crate) fn with_telemetry(self, telemetry: Option<Arc<TelemetryObserver>>) -> Self {
        Self { telemetry, ..self }
    }

    /// Begins on a thread of its own, which dies with the process; the next one begins where it was.
    #[must_use]
    pub fn spawn(self) -> RunningCleanup {
        let (sender, lines) = oneshot::channel();
        std::thread::spawn(move || {
            // The front end may have stopped listening.
            let _ = sender.send(self.run());
        });
        RunningCleanup { lines }
    }

    /// Returns messages about what was done.
    fn run(&self) -> Vec<String> {
        let mark = self.catalogue.root().join("swept");
        if file_age(&mark).is_some_and(|age| age < DAY) {
            return Vec::new();
        }
        // Held until the end: one process cleans up at a time.
        let Some(lock) = lock_mark(&self.catalogue) else { return Vec::new() };
        let trash = SessionTrash::for_sessions(self.catalogue.root());
        trash.settle();
        let sessions = self.catalogue.list(None).unwrap_or_default();
        let mut lines = Vec::new();
        match self.is_clock_plausible(&sessions) {
            true => {
                lines.extend(self.move_old_sessions(&sessions, &trash));
                let moved = lines.len();
                let deleted = trash.delete_older(TRASH_AGE);
                if let Some(telemetry) = &self.telemetry
                    && moved + deleted > 0
                {
                    telemetry.report(WiringReport::SessionsCleanedUp { moved, deleted });
                }
                lines.extend(match deleted {
                    0 => None,
                    gone => {
                        let gone = format_counted(gone, "session");
                        Some(format!("deleted from the trash after a week: {gone}"))
                    }
                });
                lines.extend(match self.remove_unused_snapshots() {
                    0 => None,
                    gone => {
                        let gone = format_counted(gone, "folder");
                        Some(format!("deleted snapshots of {gone} without sessions"))
                    }
                });
            }
            false => lines.push(
                "no old session was cleaned up: the clock does not fit the times of the files"
                    .to_owned(),
            ),
        }
        // Written last, so that a clean-up that is cut short begins again with the next session.
        let _ = lock.set_modified(SystemTime::now());
        lines
    }

    fn move_old_sessions(&self, sessions: &[ListedSession], trash: &SessionTrash) -> Vec<String> {
        let mut lines = Vec::new();
        for listed in sessions {
            if self.is_in_use(&listed.path) || !self.is_old(listed) {
                continue;
            }
            let transcript = self.find_transcript(listed);
            // Looked at again under the lock: a process that asks for it touches it first.
            let is_still_old = || self.is_old(listed);
            if trash.add(&listed.path, transcript.as_deref(), is_still_old).is_ok_and(|moved| moved)
            {
                let id = &listed.summary.id;
                lines.push(format!(
                    "session {id} was not used for {} days and is now in {}; for a week, \
                     `windlass sessions restore {id}` restores it",
                    self.age.as_secs() / DAY.as_secs(),
                    trash.root().join(id).display()
                ));
            }
        }
        lines
    }

    fn remove_unused_snapshots(&self) -> usize {
        let state = self.catalogue.root().parent();
        if let Some(state) = state {
            remove_stale_trials(&state.join(TRIALS_FOLDER));
        }
        state.map_or(0, |state| remove_unused_stores(&state.join(STORES_FOLDER)))
    }

    /// By name: a path may lead through a link, and no two sessions share an id.
    fn is_in_use(&self, journal: &Path) -> bool {
        self.in_use.iter().any(|used| used.file_name() == journal.file_name())
    }

    /// Both the records and the file times must be old: a restored copy, or a clock that was once
    /// wrong, must not delete a session.
    fn is_old(&self, listed: &ListedSession) -> bool {
        let updated = SystemTime::UNIX_EPOCH + Duration::from_millis(listed.summary.updated);
        let is_old = |time: SystemTime| {
            SystemTime::now().duration_since(time).is_ok_and(|age| age > self.age)
        };
        is_old(updated) && newest_file_time(&listed.path).is_some_and(is_old)
    }

    /// A clock that is behind the newest file of any other session, or more than a year ahead of it, is
    /// more likely wrong than right.
    fn is_clock_plausible(&self, sessions: &[ListedSession]) -> bool {
        let others = sessions.iter().filter(|listed| !self.is_in_use(&listed.path));
        let newest = others.filter_map(|listed| newest_file_time(&listed.path)).max();
        newest.is_none_or(|newest| {
            SystemTime::now().duration_since(newest).is_ok_and(|since| since < CLOCK_GAP_MAX)
        })
    }

    fn find_transcript(&self, listed: &ListedSession) -> Option<PathBuf> {
        let project = listed.summary.project.as_deref()?;
        let folder =
            self.transcripts.as_ref()?.join("projects").join(project_key(Path::new(project)));
        Some(folder.join(format!("{}.jsonl", listed.summary.id)))
    }
}

impl RunningCleanup {
    /// What was done, if it is over by then.
    pub async fn wait(self, at_most: Duration) -> Vec<String> {
        match tokio::time::timeout(at_most, self.lines).await {
            Ok(Ok(lines)) => lines,
            Ok(Err(_)) | Err(_) => Vec::new(),
        }
    }
}

/// Brings a session back from the trash, and returns its journal. No clean-up runs meanwhile.
pub fn restore_session(
    catalogue: &SessionCatalogue,
    id: &str,
) -> Result<PathBuf, windlass_journal::JournalError> {
    // Not waited for: a clean-up finishes or takes back only moves that were cut short.
    let _lock = lock_mark(catalogue);
    let journal = SessionTrash::for_sessions(catalogue.root()).restore(id)?;
    // Its files are old: the next clean-up would take it again.
    mark_used(&journal);
    Ok(journal)
}

/// Gives a journal the present time, so that no clean-up takes it for old. Best effort.
pub(super) fn mark_used(journal: &Path) {
    if let Ok(file) = OpenOptions::new().append(true).open(journal) {
        let _ = file.set_modified(SystemTime::now());
    }
}

/// Removes the transcript for other programs. Best effort: the session itself is deleted already.
pub(crate) fn remove_transcript(path: &Path) {
    let _ = std::fs::remove_file(path);
    let _ = std::fs::remove_dir_all(path.with_extension(""));
}

fn lock_mark(catalogue: &SessionCatalogue) -> Option<File> {
    let path = catalogue.root().join("swept");
    let is_new = !path.exists();
    let file = OpenOptions::new().append(true).create(true).open(&path).ok()?;
    if is_new {
        // The file's time is that of the last finished cleanup; set it back until this one is
        // finished.
        let _ = file.set_modified(SystemTime::UNIX_EPOCH);
    }
    file.try_lock().is_ok().then_some(file)
}

/// The time of the newest file of a journal: the first, or one that continues it.
fn newest_file_time(journal: &Path) -> Option<SystemTime> {
    let stem = journal.file_stem()?.to_string_lossy().into_owned() + ".";
    let entries = std::fs::read_dir(journal.parent()?).ok()?.flatten();
    let of_journal = entries.filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with(&stem) && name.ends_with(".jsonl")
    });
    of_journal.filter_map(|entry| entry.metadata().ok()?.modified().ok()).max()
}

fn file_age(path: &Path) -> Option<Duration> {
    let changed = path.metadata().ok()?.modified().ok()?;
    SystemTime::now().duration_since(changed).ok()
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long sessions are kept by default.
pub(crate) const CLEANUP_DAYS_DEFAULT: u32 = 30;
/// How long the trash keeps them.
const TRASH_AGE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How far a clock may be ahead of the newest file before it is taken to be wrong.
const CLOCK_GAP_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);
