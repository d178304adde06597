//! Caches the traces of the sessions shown last. If a journal has grown, tracing continues where it
//! ended; if it changed otherwise, it is traced again, and the previous trace is shown until the
//! new one is complete.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use windlass_assembly::session::journal_replay::trace_session;
use windlass_journal::session_trace::{JournalTracer, SessionTrace, lock_trace};
use windlass_journal::{find_journal_files, is_being_written};

use super::ViewFailure;
use super::session_directory::lock;

/// A trace that is complete or in progress.
#[derive(Clone)]
pub(crate) struct SharedTrace {
    trace: Arc<Mutex<SessionTrace>>,
    progress: Arc<TraceProgress>,
    stamp: JournalStamp,
    /// Kept to continue the trace while the session is being written.
    tracer: Arc<Mutex<Option<JournalTracer>>>,
}

#[derive(Default)]
struct TraceProgress {
    is_over: AtomicBool,
    failure: Mutex<Option<String>>,
}

/// Metadata of a journal's files: their number, total size and last modification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct JournalStamp {
    files: usize,
    bytes: u64,
    modified: Option<std::time::SystemTime>,
    /// Inode of the last file: another file may have taken its name.
    inode: u64,
}

impl JournalStamp {
    /// Whether the last file was appended to and nothing else changed.
    fn has_grown_from(&self, before: &Self) -> bool {
        self.files == before.files && self.inode == before.inode && self.bytes > before.bytes
    }
}

#[derive(Default)]
pub(crate) struct TraceCache {
    entries: Mutex<Vec<CachedTrace>>,
    building: Arc<AtomicUsize>,
}

struct CachedTrace {
    journal: PathBuf,
    whole: Option<SharedTrace>,
    next: Option<SharedTrace>,
}

impl SharedTrace {
    /// Reads the trace as far as it is complete.
    pub(crate) fn read<T>(&self, reader: impl FnOnce(&SessionTrace) -> T) -> T {
        reader(&lock_trace(&self.trace))
    }

    pub(crate) fn is_over(&self) -> bool {
        self.progress.is_over.load(Ordering::Acquire)
    }

    /// Waits until the trace has `count` items, is complete, or `TRACE_WAIT` has passed.
    pub(crate) fn wait_for_items(&self, count: usize) -> Result<(), ViewFailure> {
        let began = Instant::now();
        while !self.is_over() && began.elapsed() < TRACE_WAIT {
            if lock_trace(&self.trace).items.len() >= count {
                return Ok(());
            }
            std::thread::sleep(POLL);
        }
        self.check()
    }

    pub(crate) fn wait_for_end(&self) -> Result<(), ViewFailure> {
        self.wait_for_items(usize::MAX)
    }

    fn check(&self) -> Result<(), ViewFailure> {
        match lock(&self.progress.failure).clone() {
            // What was read before the failure can still be shown.
            Some(words) if lock_trace(&self.trace).items.is_empty() => {
                Err(ViewFailure::failed(&words))
            }
            _ => Ok(()),
        }
    }
}

impl TraceCache {
    /// A trace of this journal. Waits briefly for a current one; for a long journal it may be
    /// older.
    pub(crate) fn open(&self, journal: &Path) -> Result<SharedTrace, ViewFailure> {
        let stamp = stamp_journal(journal)?;
        let (found, next) = self.lookup(journal, stamp)?;
        let Some(next) = next else { return Ok(found) };
        let began = Instant::now();
        while !next.is_over() && began.elapsed() < SHORT_WAIT {
            std::thread::sleep(POLL);
        }
        self.lookup(journal, stamp).map(|(found, _)| found)
    }

    /// Makes the journal look so long that nothing of it is traced yet.
    #[cfg(test)]
    pub(crate) fn stall(&self, journal: &Path) {
        let stamp = stamp_journal(journal).unwrap();
        let next = SharedTrace {
            trace: Arc::default(),
            progress: Arc::default(),
            stamp,
            tracer: Arc::default(),
        };
        let journal = journal.to_owned();
        lock(&self.entries).push(CachedTrace { journal, whole: None, next: Some(next) });
    }

    /// The trace to show, and the one in progress.
    fn lookup(
        &self,
        journal: &Path,
        stamp: JournalStamp,
    ) -> Result<(SharedTrace, Option<SharedTrace>), ViewFailure> {
        let mut entries = lock(&self.entries);
        let position = entries.iter().position(|entry| entry.journal == journal);
        let mut entry = match position {
            Some(position) => entries.remove(position),
            None => CachedTrace { journal: journal.to_owned(), whole: None, next: None },
        };
        if entry.next.as_ref().is_some_and(SharedTrace::is_over) {
            entry.whole = entry.next.take();
        }
        let newest = entry.next.as_ref().or(entry.whole.as_ref());
        if entry.next.is_none() && newest.is_none_or(|newest| newest.stamp != stamp) {
            match self.spawn(journal, stamp, entry.whole.as_ref()) {
                Ok(next) => entry.next = Some(next),
                // The known trace can still be shown.
                Err(_) if entry.whole.is_some() => {}
                Err(failure) => return Err(failure),
            }
        }
        let next = entry.next.clone();
        let found = entry.whole.clone().or_else(|| next.clone());
        while entries.len() >= TRACES_MAX {
            entries.remove(0);
        }
        entries.push(entry);
        // Only the sessions shown last may be followed; the others give up their tracers and keep
        // their traces.
        let others =
            entries.iter().rev().skip(TRACERS_MAX).filter_map(|entry| entry.whole.as_ref());
        others.for_each(|whole| *lock(&whole.tracer) = None);
        let found = found.ok_or_else(|| ViewFailure::failed("the session cannot be read"))?;
        Ok((found, next))
    }

    /// Traces on a new thread, continuing from `before` if the journal has only grown.
    fn spawn(
        &self,
        journal: &Path,
        stamp: JournalStamp,
        before: Option<&SharedTrace>,
    ) -> Result<SharedTrace, ViewFailure> {
        if self.building.fetch_add(1, Ordering::AcqRel) >= BUILDS_MAX {
            self.building.fetch_sub(1, Ordering::AcqRel);
            return Err(ViewFailure::new(503, "busy", "too many sessions at once; try again"));
        }
        let grown = before.filter(|before| stamp.has_grown_from(&before.stamp));
        let tracer = grown.and_then(|before| lock(&before.tracer).take());
        let trace = match (&tracer, grown) {
            (Some(_), Some(before)) => Arc::clone(&before.trace),
            _ => Arc::default(),
        };
        let shared = SharedTrace { trace, progress: Arc::default(), stamp, tracer: Arc::default() };
        let (made, journal) = (shared.clone(), journal.to_owned());
        let building = BuildCount(Arc::clone(&self.building));
        let build = move || {
            let _building = building;
            let ended = EndMark(Arc::clone(&made.progress));
            // A journal that violates an invariant of the engine must not end the viewer.
            let traced = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| match tracer {
                Some(tracer) => tracer.advance(),
                None => trace_session(&journal, &made.trace),
            }));
            let failure = match traced {
                Ok(Ok(tracer)) => {
                    let is_kept = tracer.can_go_on() && is_being_written(&journal);
                    *lock(&made.tracer) = is_kept.then_some(tracer);
                    None
                }
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) => Some("this journal cannot be replayed".to_owned()),
            };
            *lock(&made.progress.failure) = failure;
            drop(ended);
        };
        std::thread::Builder::new()
            .name("session trace".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(build)
            .map_err(|error| ViewFailure::failed(&error.to_string()))?;
        Ok(shared)
    }
}

/// Marks a trace as over when dropped, however it ended.
struct EndMark(Arc<TraceProgress>);

impl Drop for EndMark {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Release);
    }
}

/// Counts one trace in progress.
struct BuildCount(Arc<AtomicUsize>);

impl Drop for BuildCount {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn stamp_journal(journal: &Path) -> Result<JournalStamp, ViewFailure> {
    let unreadable = |error: std::io::Error| ViewFailure::failed(&error.to_string());
    let first = journal.metadata().map_err(unreadable)?;
    let mut stamp = JournalStamp {
        files: 1,
        bytes: first.len(),
        modified: first.modified().ok(),
        inode: first.ino(),
    };
    for later in find_journal_files(journal).iter().skip(1) {
        let Ok(later) = later.metadata() else { break };
        stamp.files += 1;
        stamp.bytes += later.len();
        stamp.modified = stamp.modified.max(later.modified().ok());
        stamp.inode = later.ino();
    }
    Ok(stamp)
}

/// Limit on tracers kept to continue: each holds a whole conversation.
const TRACERS_MAX: usize = 2;
/// Limit on cached sessions.
const TRACES_MAX: usize = 6;
/// Limit on concurrent traces.
const BUILDS_MAX: usize = 4;
const TRACE_WAIT: Duration = Duration::from_secs(90);
const SHORT_WAIT: Duration = Duration::from_millis(100);
const POLL: Duration = Duration::from_millis(2);
/// Shell commands are parsed recursively, as in a session.
const STACK_BYTES: usize = 16 << 20;
