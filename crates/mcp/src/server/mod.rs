//! One configured server: connected when needed, again when it was lost, never for ever.
//!
//! [`McpServer`] is the handle, `actor` the one task that owns the connection, `list_cache` what is kept
//! of a server between sessions. Which servers there are is decided elsewhere.

mod actor;
mod list_cache;
mod package_runner;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use windlass_tool::{GuardedCommandLine, ToolSessionContext};

use crate::connection::{
    McpConnection, McpHost, McpPromptDescription, McpServerDescription, McpToolDescription,
};
use crate::elicitation_prompter::PrompterSlot;
use crate::failure::McpFailure;
use crate::login::LoginStore;
use crate::tool_names::fingerprint;
use crate::transport::http::HttpServerConfig;
use crate::transport::stdio::StdioServerConfig;

pub use list_cache::ServerListCache;
use package_runner::runs_package;

/// Orders that may wait for one server.
const COMMANDS_MAX: usize = 64;

/// A server that is configured.
#[derive(Clone, Debug)]
pub struct McpServerConfig {
    /// Its name in the configuration.
    pub name: String,
    pub transport: McpServerTransport,
    /// Where it is configured, in a word: `user`, `project`, `local`, `dynamic`.
    pub scope: String,
    /// Its tools are wanted from the start.
    pub is_always_loaded: bool,
    /// Not used until it is enabled.
    pub is_disabled: bool,
    /// How long one of its calls may take, where that is not as usual.
    pub call_limit: Option<Duration>,
    /// What it starts, as it is written, checked before each start.
    pub command_line: GuardedCommandLine,
}

impl McpServerConfig {
    /// A server with nothing special about it.
    #[must_use]
    pub fn new(name: impl Into<String>, transport: McpServerTransport) -> Self {
        Self {
            name: name.into(),
            transport,
            scope: "dynamic".to_owned(),
            is_always_loaded: false,
            is_disabled: false,
            call_limit: None,
            command_line: GuardedCommandLine::default(),
        }
    }
}

impl McpServerConfig {
    /// Is it started by a program that installs it first?
    #[must_use]
    pub fn installs_first(&self) -> bool {
        match &self.transport {
            McpServerTransport::Process(process) => runs_package(process),
            McpServerTransport::Http(_)
            | McpServerTransport::InProcess(_)
            | McpServerTransport::Unavailable(_) => false,
        }
    }
}

/// How a server is reached.
#[derive(Clone)]
pub enum McpServerTransport {
    /// As a process of ours.
    Process(StdioServerConfig),
    Http(HttpServerConfig),
    InProcess(Arc<dyn InProcessServer>),
    Unavailable(String),
}

impl std::fmt::Debug for McpServerTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Process(config) => config.fmt(f),
            // Headers may hold secrets.
            Self::Http(config) => f.debug_tuple("Http").field(&config.url).finish(),
            Self::InProcess(_) => f.write_str("Inside"),
            Self::Unavailable(reason) => f.debug_tuple("Unavailable").field(reason).finish(),
        }
    }
}

/// A server that lives in this process or behind a front end.
pub trait InProcessServer: Send + Sync {
    /// Two channels: into the first goes what we say, out of the second comes what it says.
    fn open_channels(&self) -> (mpsc::Sender<Value>, mpsc::Receiver<Value>);
}

/// How patient we are with servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpTimeouts {
    pub connect: Duration,
    /// To connect where a package runner starts the server, which installs it first.
    pub install: Duration,
    pub call: Duration,
    /// To show a sign of life after a call was given up.
    pub ping: Duration,
    /// Before it is started again the first time; twice that before the second.
    pub restart_pause: Duration,
}

impl Default for McpTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            install: Duration::from_secs(300),
            call: Duration::from_secs(600),
            ping: Duration::from_secs(5),
            restart_pause: Duration::from_millis(500),
        }
    }
}

impl McpTimeouts {
    /// How long this server may take to connect.
    pub(crate) fn connect_limit(&self, config: &McpServerConfig) -> Duration {
        match config.installs_first() {
            true => self.install.max(self.connect),
            false => self.connect,
        }
    }

    /// When a server that is still being started is worth a word.
    fn slow_after(&self) -> Duration {
        SLOW_AFTER.min(self.connect / 3)
    }
}

/// What all servers of a session share.
#[derive(Clone)]
pub struct McpServerContext {
    /// Where processes are started, and held by what.
    pub tool_context: Arc<ToolSessionContext>,
    pub timeouts: McpTimeouts,
    pub host: Arc<dyn McpHost>,
    /// Who sits in front, if anybody does.
    pub prompter: PrompterSlot,
    /// Where lists of tools are kept between sessions.
    pub list_cache: Option<ServerListCache>,
    /// Where what logins gave is kept.
    pub login_store: Option<LoginStore>,
    /// How many may be started at a time.
    pub(crate) start_slots: Arc<Semaphore>,
}

impl McpServerContext {
    /// A context without prompter, login store and list cache.
    #[must_use]
    pub fn new(
        tool_context: ToolSessionContext,
        timeouts: McpTimeouts,
        host: Arc<dyn McpHost>,
    ) -> Self {
        let start_slots = Arc::new(Semaphore::new(STARTING_MAX));
        Self {
            tool_context: Arc::new(tool_context),
            timeouts,
            host,
            prompter: PrompterSlot::none(),
            list_cache: None,
            login_store: None,
            start_slots,
        }
    }
}

/// Servers started at a time, so that twenty of them do not take the machine from the session.
const STARTING_MAX: usize = 4;

impl std::fmt::Debug for McpServerContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpServerContext").field("timeouts", &self.timeouts).finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpServerStatus {
    /// Its tools are known from an earlier session; it is connected when one is called.
    Idle,
    Pending,
    Connected,
    /// It could not be had, or was lost too often.
    Failed,
    /// The user has to log in first.
    NeedsLogin,
    Disabled,
}

impl McpServerStatus {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle | Self::Pending => "pending",
            Self::Connected => "connected",
            Self::Failed => "failed",
            Self::NeedsLogin => "needs-auth",
            Self::Disabled => "disabled",
        }
    }
}

/// A server as it is now.
#[derive(Clone, Debug)]
pub struct McpServerSnapshot {
    pub status: McpServerStatus,
    /// Why, if something went wrong.
    pub error: Option<String>,
    /// Its tools, as far as they are known.
    pub tools: Arc<[McpToolDescription]>,
    pub prompts: Arc<[McpPromptDescription]>,
    /// What it says of itself.
    pub description: Option<McpServerDescription>,
    connection: Option<Arc<McpConnection>>,
}

/// What the actor is asked to do.
enum ServerActorCommand {
    /// Connect if it is not, and say when it is there.
    Connect(oneshot::Sender<Result<Arc<McpConnection>, McpFailure>>),
    Reconnect(oneshot::Sender<Result<Arc<McpConnection>, McpFailure>>),
    /// Switch it on or off.
    SetEnabled(bool),
    /// Its lists are others now.
    RefreshLists,
}

/// The handle of one server. Dropped, the server is ended.
#[derive(Debug)]
pub struct McpServer {
    config: Arc<McpServerConfig>,
    commands: mpsc::Sender<ServerActorCommand>,
    snapshot: watch::Receiver<McpServerSnapshot>,
    timeouts: McpTimeouts,
    end: CancellationToken,
    /// Each tool as it was when it was first seen, or last allowed in spite of a change.
    first_seen_tools: Mutex<BTreeMap<String, String>>,
}

impl McpServer {
    /// Sets its actor going on the current runtime. It connects at once, unless its tools are known
    /// from an earlier session.
    #[must_use]
    pub fn start(config: McpServerConfig, context: &McpServerContext) -> Self {
        let config = Arc::new(config);
        let (commands, receiver) = mpsc::channel(COMMANDS_MAX);
        let end = CancellationToken::new();
        let (actor, snapshot) = actor::McpServerActor::new(
            Arc::clone(&config),
            context.clone(),
            receiver,
            commands.downgrade(),
        );
        tokio::spawn(actor.run(end.clone()));
        let timeouts = context.timeouts;
        Self { config, commands, snapshot, timeouts, end, first_seen_tools: Mutex::default() }
    }

    #[must_use]
    pub fn config(&self) -> &McpServerConfig {
        &self.config
    }

    #[must_use]
    pub fn snapshot(&self) -> McpServerSnapshot {
        self.snapshot.borrow().clone()
    }

    /// Is a tool another than it was when this session first looked at it? A permission
    /// for the one does not hold for the other.
    pub(crate) fn has_tool_changed(&self, tool: &str) -> bool {
        let Some(now) = self.tool_fingerprint(tool) else { return false };
        let mut first = self.first_seen_tools.lock().unwrap_or_else(PoisonError::into_inner);
        *first.entry(tool.to_owned()).or_insert_with(|| now.clone()) != now
    }

    /// The model may be offered this tool from now on.
    pub(crate) fn record_tool(&self, tool: &str) {
        let _ = self.has_tool_changed(tool);
    }

    /// A tool was allowed as it is now.
    pub(crate) fn accept_tool(&self, tool: &str) {
        if let Some(now) = self.tool_fingerprint(tool) {
            let mut first = self.first_seen_tools.lock().unwrap_or_else(PoisonError::into_inner);
            first.insert(tool.to_owned(), now);
        }
    }

    /// What a tool says of itself, in short.
    fn tool_fingerprint(&self, tool: &str) -> Option<String> {
        let snapshot = self.snapshot.borrow();
        // What is only remembered from an earlier session is not held against anybody.
        snapshot.connection.as_ref()?;
        let facts = snapshot.tools.iter().find(|facts| facts.name == tool)?;
        Some(fingerprint(&serde_json::to_string(facts).ok()?))
    }

    /// How long one call may take.
    #[must_use]
    pub fn call_limit(&self) -> Duration {
        self.config.call_limit.unwrap_or(self.timeouts.call)
    }

    /// The connection, made now if there is none.
    ///
    /// # Errors
    ///
    /// When it cannot be had.
    pub async fn connect(&self) -> Result<Arc<McpConnection>, McpFailure> {
        self.request_connection(ServerActorCommand::Connect).await
    }

    /// Connects anew, also what has failed or is switched off.
    ///
    /// # Errors
    ///
    /// When it cannot be had.
    pub async fn reconnect(&self) -> Result<(), McpFailure> {
        self.request_connection(ServerActorCommand::Reconnect).await.map(drop)
    }

    /// Switches it on or off.
    pub async fn set_enabled(&self, is_on: bool) {
        if self.commands.send(ServerActorCommand::SetEnabled(is_on)).await.is_err() {
            return;
        }
        // So that the next caller sees it.
        let mut snapshot = self.snapshot.clone();
        let seen = snapshot.wait_for(|now| (now.status != McpServerStatus::Disabled) == is_on);
        let _ = tokio::time::timeout(SET_ENABLED_MAX, seen).await;
    }

    /// Waits until it is no longer being connected.
    pub async fn wait_until_settled(&self) {
        let mut snapshot = self.snapshot.clone();
        let _ = snapshot.wait_for(|now| now.status != McpServerStatus::Pending).await;
    }

    /// Waits until it is connected, has failed, or needs so long that it is worth a word: those words.
    pub(crate) async fn wait_until_slow(&self) -> Option<String> {
        let mut snapshot = self.snapshot.clone();
        let has_news =
            |now: &McpServerSnapshot| now.status != McpServerStatus::Pending || now.error.is_some();
        let now = snapshot.wait_for(has_news).await.ok()?;
        let why = now.error.clone().filter(|_| now.status == McpServerStatus::Pending)?;
        Some(format!("The MCP server `{}` is not ready: {why}", self.config.name))
    }

    /// A call was given up. A server that then gives no sign of life is ended.
    pub fn probe_after_cancel(&self, connection: &Arc<McpConnection>) {
        let connection = Arc::clone(connection);
        let limit = self.timeouts.ping;
        tokio::spawn(async move {
            if !connection.is_responsive(limit).await {
                connection.hang_up("it gave no sign of life after a call was given up");
            }
        });
    }

    /// Ends it; it does not come back.
    pub(crate) fn end(&self) {
        self.end.cancel();
    }

    pub(crate) async fn wait_until_ended(&self) {
        self.commands.closed().await;
    }

    async fn request_connection(
        &self,
        command: impl FnOnce(
            oneshot::Sender<Result<Arc<McpConnection>, McpFailure>>,
        ) -> ServerActorCommand,
    ) -> Result<Arc<McpConnection>, McpFailure> {
        let gone = || McpFailure::Gone { reason: "the session is over".to_owned() };
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

impl Drop for McpServer {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

/// The longest that a server is waited for without a word.
const SLOW_AFTER: Duration = Duration::from_secs(10);
/// How long a switch is waited for before a caller may see the old state.
const SET_ENABLED_MAX: Duration = Duration::from_secs(2);
