//! What the viewer knows of sessions: which there are, and what happened in those that were looked at.
//! Everything here blocks; the router calls it beside the event loop.

pub(crate) mod run;
mod session_directory;
mod trace_cache;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use tokio::sync::Semaphore;
use windlass_assembly::options::RunOptions;
use windlass_assembly::session::open_catalogue;
use windlass_host::command_error::CommandError;
use windlass_host::environment::process_environment;
use windlass_journal::JournalError;

use crate::act::OpenSessions;
use crate::server::http_response::HttpResponse;
use crate::server::query::QueryParameters;
use crate::view::ProjectSettingsCache;
pub(crate) use session_directory::{ListedSessionRow, SessionDirectoryCache};
pub(crate) use trace_cache::{SharedTrace, TraceCache};

/// Where the viewer looks, and what it remembers.
pub(crate) struct Viewer {
    pub(crate) assets: Option<PathBuf>,
    pub(crate) can_act: bool,
    /// The session that was named at the start.
    pub(crate) first_session: Option<String>,
    pub(crate) sessions: SessionDirectoryCache,
    pub(crate) traces: TraceCache,
    pub(crate) project_settings: ProjectSettingsCache,
    pub(crate) open_sessions: OpenSessions,
    /// Streams of events that may be open.
    pub(crate) event_streams: Arc<Semaphore>,
    work: Arc<Semaphore>,
}

/// A session that was found by its id.
#[derive(Clone, Debug)]
pub(crate) struct FoundSession {
    pub(crate) id: String,
    pub(crate) journal: PathBuf,
    /// The row of the session itself, or of the one it belongs to.
    pub(crate) row: ListedSessionRow,
    /// The session and the agent within it, if it is a sub-agent's.
    pub(crate) parent: Option<(String, String)>,
}

impl Viewer {
    /// `acting`: how sessions are opened to take part in them; `None` only looks.
    pub(crate) fn open(
        assets: Option<PathBuf>,
        acting: Option<RunOptions>,
        first_session: Option<String>,
    ) -> Result<Self, CommandError> {
        Ok(Self {
            assets,
            can_act: acting.is_some(),
            open_sessions: OpenSessions::new(acting.unwrap_or_default()),
            first_session,
            sessions: SessionDirectoryCache::new(open_catalogue(&process_environment)?),
            traces: TraceCache::default(),
            project_settings: ProjectSettingsCache::default(),
            event_streams: Arc::new(Semaphore::new(EVENT_STREAMS_MAX)),
            work: Arc::new(Semaphore::new(ANSWERS_AT_ONCE)),
        })
    }

    #[cfg(test)]
    pub(crate) fn for_test(catalogue: windlass_journal::SessionCatalogue) -> Self {
        Self {
            assets: None,
            can_act: true,
            open_sessions: OpenSessions::new(RunOptions::default()),
            first_session: None,
            sessions: SessionDirectoryCache::new(catalogue),
            traces: TraceCache::default(),
            project_settings: ProjectSettingsCache::default(),
            event_streams: Arc::new(Semaphore::new(1)),
            work: Arc::new(Semaphore::new(1)),
        }
    }

    /// Answers beside the event loop, a few at a time.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        path: Vec<String>,
        query: QueryParameters,
    ) -> Result<Value, ViewFailure> {
        let waited = tokio::time::timeout(WORK_WAIT, Arc::clone(&self.work).acquire_owned()).await;
        let Ok(Ok(permit)) = waited else {
            return Err(ViewFailure::new(503, "busy", "too much at once; try again"));
        };
        self.run_beside(move |viewer| {
            let _permit = permit;
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            crate::view::answer(viewer, &path, &query)
        })
        .await
    }

    /// Looks something up beside the event loop, which serves others meanwhile. As many at once as there
    /// are connections; the connection's limit bounds the wait.
    pub(crate) async fn run_beside<T: Send + 'static>(
        self: &Arc<Self>,
        look: impl FnOnce(&Self) -> Result<T, ViewFailure> + Send + 'static,
    ) -> Result<T, ViewFailure> {
        let viewer = Arc::clone(self);
        let looked = tokio::task::spawn_blocking(move || look(&viewer)).await;
        looked.unwrap_or_else(|error| {
            Err(ViewFailure::failed(&format!("this part of the session cannot be shown: {error}")))
        })
    }

    /// The session with this id, or the sub-agent `session~agent`. The disk is asked what there is; the id
    /// is only compared.
    pub(crate) fn find(&self, id: &str) -> Result<FoundSession, ViewFailure> {
        let missing = || ViewFailure::not_found("there is no session with this id");
        let (session, agents) = match id.split_once('~') {
            Some((session, agents)) => (session, agents.split('~').collect()),
            None => (id, Vec::new()),
        };
        if agents.len() > AGENT_DEPTH_MAX {
            return Err(missing());
        }
        let (row, mut journal) = self.sessions.find(session)?.ok_or_else(missing)?;
        let mut parent = None;
        let mut found_id = session.to_owned();
        for agent in agents {
            let there = list_agent_journals(&journal);
            let (name, path) =
                there.into_iter().find(|(name, _)| name == agent).ok_or_else(missing)?;
            parent = Some((found_id.clone(), name));
            journal = path;
            found_id = format!("{found_id}~{agent}");
        }
        Ok(FoundSession { id: found_id, journal, row, parent })
    }
}

/// The journals of the agents that a session started: their names and files.
pub(crate) fn list_agent_journals(journal: &Path) -> Vec<(String, PathBuf)> {
    let entries = std::fs::read_dir(journal.with_extension("agents"));
    let mut found: Vec<(String, PathBuf)> = entries
        .into_iter()
        .flatten()
        .flatten()
        .take(AGENTS_MAX)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let name = name.strip_suffix(".jsonl")?;
            // A later file of a journal has one more dot.
            (!name.contains('.')).then(|| (name.to_owned(), entry.path()))
        })
        .collect();
    found.sort();
    found
}

pub(crate) fn now_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Why there is no answer.
#[derive(Clone, Debug)]
pub(crate) struct ViewFailure {
    status: u16,
    code: &'static str,
    message: String,
}

impl ViewFailure {
    pub(crate) fn new(status: u16, code: &'static str, message: &str) -> Self {
        Self { status, code, message: message.to_owned() }
    }

    pub(crate) fn not_found(message: &str) -> Self {
        Self::new(404, "not_found", message)
    }

    pub(crate) fn bad_request(message: &str) -> Self {
        Self::new(400, "bad_request", message)
    }

    pub(crate) fn failed(message: &str) -> Self {
        Self::new(500, "failed", message)
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn into_response(self) -> HttpResponse {
        HttpResponse::error(self.status, self.code, &self.message)
    }
}

impl From<JournalError> for ViewFailure {
    fn from(error: JournalError) -> Self {
        Self::failed(&error.to_string())
    }
}

impl From<CommandError> for ViewFailure {
    fn from(error: CommandError) -> Self {
        Self::failed(error.message())
    }
}

/// A parameter that is not what it should be.
impl From<String> for ViewFailure {
    fn from(words: String) -> Self {
        Self::bad_request(&words)
    }
}

const ANSWERS_AT_ONCE: usize = 8;
const EVENT_STREAMS_MAX: usize = 16;
const WORK_WAIT: Duration = Duration::from_secs(30);
const AGENTS_MAX: usize = 1_000;
/// Sessions nest less deeply than this.
const AGENT_DEPTH_MAX: usize = 16;
