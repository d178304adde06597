//! The viewer's state: the list of sessions, and traces of those shown. Everything blocks; the
//! router calls it on blocking threads.

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

pub(crate) struct Viewer {
    pub(crate) assets: Option<PathBuf>,
    pub(crate) can_act: bool,
    /// The session named on the command line.
    pub(crate) first_session: Option<String>,
    pub(crate) sessions: SessionDirectoryCache,
    pub(crate) traces: TraceCache,
    pub(crate) project_settings: ProjectSettingsCache,
    pub(crate) open_sessions: OpenSessions,
    /// Limits concurrent event streams.
    pub(crate) event_streams: Arc<Semaphore>,
    work: Arc<Semaphore>,
}

#[derive(Clone, Debug)]
pub(crate) struct FoundSession {
    pub(crate) id: String,
    pub(crate) journal: PathBuf,
    /// The row of the session, or of the top-level session it belongs to.
    pub(crate) row: ListedSessionRow,
    /// The parent session and the agent's name, for a sub-agent.
    pub(crate) parent: Option<(String, String)>,
}

impl Viewer {
    /// `acting`: options to open sessions with; `None` for a read-only viewer.
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

    /// Computes a response on a blocking thread, limited to a few at a time.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        path: Vec<String>,
        query: QueryParameters,
    ) -> Result<Value, ViewFailure> {
        let waited = tokio::time::timeout(WORK_WAIT, Arc::clone(&self.work).acquire_owned()).await;
        let Ok(Ok(permit)) = waited else {
            return Err(ViewFailure::new(503, "busy", "too many requests at once; try again"));
        };
        self.run_beside(move |viewer| {
            let _permit = permit;
            let path: Vec<&str> = path.iter().map(String::as_str).collect();
            crate::view::answer(viewer, &path, &query)
        })
        .await
    }

    /// Runs a lookup on a blocking thread. Up to one per connection; the connection's timeout
    /// bounds the wait.
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

    /// The session with this id, or the sub-agent `session~agent`. The id is only compared with
    /// what is on disk and never used as a path.
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

/// Names and journals of the agents that a session started.
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
            // Later segments of a journal have another dot in their name.
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

/// An error response.
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

/// An invalid query parameter.
impl From<String> for ViewFailure {
    fn from(words: String) -> Self {
        Self::bad_request(&words)
    }
}

const ANSWERS_AT_ONCE: usize = 8;
const EVENT_STREAMS_MAX: usize = 16;
const WORK_WAIT: Duration = Duration::from_secs(30);
const AGENTS_MAX: usize = 1_000;
/// Limit on the nesting of agents in an id.
const AGENT_DEPTH_MAX: usize = 16;
