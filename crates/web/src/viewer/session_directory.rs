//! The list of sessions with the facts it can be filtered by. Listing is fast; facts that need
//! whole journals are collected in the background and cached until the file changes.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use windlass_assembly::report::session_list::session_state;
use windlass_journal::{
    LastRun, ListedSession, SessionCatalogue, SessionFacts, SessionSummary, read_session_facts,
};

use super::ViewFailure;
use crate::viewer::list_agent_journals;

#[derive(Clone, Debug, Default)]
pub(crate) struct ListedSessionRow {
    pub(crate) summary: SessionSummary,
    /// `waiting`, `running`, `done`, `failed` or `interrupted`.
    pub(crate) state: &'static str,
    pub(crate) outcome: Option<&'static str>,
    /// Facts from the whole journal; `None` until it was scanned.
    pub(crate) facts: Option<Arc<SessionFacts>>,
    pub(crate) agents: usize,
}

pub(crate) struct SessionDirectoryCache {
    catalogue: SessionCatalogue,
    listed: Mutex<Option<(Instant, Arc<SessionListing>)>>,
    facts: Arc<Mutex<FactsMemory>>,
    /// Ids of sessions that had content: a session that was rewound to its beginning can still continue.
    shown: Mutex<HashSet<String>>,
}

/// The list at one moment.
#[derive(Debug, Default)]
pub(crate) struct SessionListing {
    pub(crate) rows: Vec<(ListedSessionRow, PathBuf)>,
    /// Differs when something in the list has changed.
    pub(crate) version: u64,
}

#[derive(Default)]
struct FactsMemory {
    /// By journal: its size and update time when scanned, and the facts.
    known: HashMap<PathBuf, (u64, u64, Arc<SessionFacts>)>,
    is_scanning: bool,
}

impl SessionDirectoryCache {
    pub(crate) fn new(catalogue: SessionCatalogue) -> Self {
        Self { catalogue, listed: Mutex::new(None), facts: Arc::default(), shown: Mutex::default() }
    }

    /// The sessions, newest first; at most `LISTING_AGE_MAX` old.
    pub(crate) fn list(&self) -> Result<Arc<SessionListing>, ViewFailure> {
        let mut listed = lock(&self.listed);
        if let Some((at, listing)) = listed.as_ref()
            && at.elapsed() < LISTING_AGE_MAX
        {
            return Ok(Arc::clone(listing));
        }
        let all = self.catalogue.list(None)?;
        let all = all.into_iter().filter(|listed| self.is_shown(listed));
        let rows: Vec<(ListedSessionRow, PathBuf)> =
            all.map(|listed| self.build_row(listed)).collect();
        let version = rows.iter().fold(FNV_START, |sum, (row, _)| {
            let facts = u64::from(row.facts.is_some());
            let state = row.state.bytes().fold(0, |sum, byte| sum * 31 + u64::from(byte));
            let numbers = [row.summary.updated, row.summary.size, state, facts];
            let sum = row.summary.id.bytes().fold(sum, |sum, byte| mix(sum, u64::from(byte)));
            numbers.into_iter().fold(sum, mix)
        });
        // Limited to 53 bits, which JavaScript numbers represent exactly.
        let listing = Arc::new(SessionListing { rows, version: version & ((1 << 53) - 1) });
        *listed = Some((Instant::now(), Arc::clone(&listing)));
        drop(listed);
        self.scan_facts(&listing);
        Ok(listing)
    }

    pub(crate) fn find(
        &self,
        id: &str,
    ) -> Result<Option<(ListedSessionRow, PathBuf)>, ViewFailure> {
        Ok(self.list()?.rows.iter().find(|(row, _)| row.summary.id == id).cloned())
    }

    fn is_shown(&self, listed: &ListedSession) -> bool {
        let mut shown = lock(&self.shown);
        let id = &listed.summary.id;
        if has_content(listed) && !shown.contains(id) {
            shown.insert(id.clone());
        }
        shown.contains(id)
    }

    fn build_row(&self, listed: ListedSession) -> (ListedSessionRow, PathBuf) {
        let state = match session_state(&listed) {
            "working" => "running",
            other => other,
        };
        let outcome = match listed.summary.last_run {
            LastRun::Ended(terminal) => Some(terminal.name()),
            LastRun::None | LastRun::Open | LastRun::Asking | LastRun::Deferred => None,
        };
        let facts =
            lock(&self.facts).known.get(&listed.path).map(|(_, _, facts)| Arc::clone(facts));
        let agents = list_agent_journals(&listed.path).len();
        let ListedSession { path, summary } = listed;
        (ListedSessionRow { summary, state, outcome, facts, agents }, path)
    }

    /// Scans new and changed journals one after another on a background thread.
    fn scan_facts(&self, listing: &Arc<SessionListing>) {
        let mut memory = lock(&self.facts);
        let is_stale = |(row, path): &&(ListedSessionRow, PathBuf)| {
            let stamp = (row.summary.size, row.summary.updated);
            memory.known.get(path).is_none_or(|(size, updated, _)| (*size, *updated) != stamp)
        };
        let stale: Vec<(PathBuf, u64, u64)> = listing
            .rows
            .iter()
            .filter(is_stale)
            .map(|(row, path)| (path.clone(), row.summary.size, row.summary.updated))
            .collect();
        if stale.is_empty() || memory.is_scanning {
            return;
        }
        memory.is_scanning = true;
        drop(memory);
        let facts = Arc::clone(&self.facts);
        let scan = move || {
            for (path, size, updated) in stale {
                // An unreadable journal is not scanned again until it changes.
                let found = Arc::new(scan_journal(&path));
                lock(&facts).known.insert(path, (size, updated, found));
            }
            lock(&facts).is_scanning = false;
        };
        let started = std::thread::Builder::new().name("session facts".to_owned()).spawn(scan);
        if started.is_err() {
            lock(&self.facts).is_scanning = false;
        }
    }
}

fn scan_journal(path: &Path) -> SessionFacts {
    read_session_facts(path).unwrap_or_default()
}

/// A run refused before the first message leaves nothing to show.
fn has_content(listed: &ListedSession) -> bool {
    !listed.summary.prompt.is_empty() || listed.summary.messages > 0
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn mix(sum: u64, number: u64) -> u64 {
    (sum ^ number).wrapping_mul(0x0000_0100_0000_01b3)
}

const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;
/// A list younger than this is reused.
const LISTING_AGE_MAX: Duration = Duration::from_millis(400);
