//! One configured server: connects on demand, and reconnects a limited number of times.
//!
//! [`McpServer`] is the handle, `actor` is the task that owns the connection, and `list_cache`
//! keeps the lists between sessions. `servers` holds all servers.

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
use crate::connection_change::McpConnectionListener;
use crate::elicitation_prompter::PrompterSlot;
use crate::failure::McpFailure;
use crate::login::LoginStore;
use crate::tool_names::fingerprint;
use crate::transport::http::HttpServerConfig;
use crate::transport::stdio::StdioServerConfig;

pub use list_cache::ServerListCache;
use package_runner::runs_package;

/// Capacity of a server's command queue.
const COMMANDS_MAX: usize = 64;

#[derive(Clone, Debug)]
pub struct McpServerConfig {
    pub name: String,
    pub transport: McpServerTransport,
    /// Where it is configured: `user`, `project`, `local` or `dynamic`.
    pub scope: String,
    /// Offer its tools from the start instead of by search.
    pub is_always_loaded: bool,
    /// Not used until the user enables it.
    pub is_disabled: bool,
    /// Overrides the usual limit of a call.
    pub call_limit: Option<Duration>,
    /// The configured command line, checked before each start.
    pub command_line: GuardedCommandLine,
}

impl McpServerConfig {
    /// A server with default options.
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
    /// Is it started by a package runner, which installs it first?
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

#[derive(Clone)]
pub enum McpServerTransport {
    /// As a child process.
    Process(StdioServerConfig),
    Http(HttpServerConfig),
    InProcess(Arc<dyn InProcessServer>),
    Unavailable(String),
}

impl std::fmt::Debug for McpServerTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Process(config) => config.fmt(f),
            // The headers are left out because they may contain secrets.
            Self::Http(config) => f.debug_tuple("Http").field(&config.url).finish(),
            Self::InProcess(_) => f.write_str("Inside"),
            Self::Unavailable(reason) => f.debug_tuple("Unavailable").field(reason).finish(),
        }
    }
}

/// A server that lives in this process or is reached through a front end.
pub trait InProcessServer: Send + Sync {
    /// The channel that takes our messages, and the channel that delivers the server's.
    fn open_channels(&self) -> (mpsc::Sender<Value>, mpsc::Receiver<Value>);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpTimeouts {
    pub connect: Duration,
    /// To connect when a package runner starts the server, which may install it first.
    pub install: Duration,
    pub call: Duration,
    /// To answer a ping after a call was cancelled.
    pub ping: Duration,
    /// Before the first restart; doubled before each further one.
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
    /// The connection deadline of this server.
    pub(crate) fn connect_limit(&self, config: &McpServerConfig) -> Duration {
        match config.installs_first() {
            true => self.install.max(self.connect),
            false => self.connect,
        }
    }

    /// When to report that a server is still starting.
    fn slow_after(&self) -> Duration {
        SLOW_AFTER.min(self.connect / 3)
    }
}

#[derive(Clone)]
pub struct McpServerContext {
    /// The working directory and confinement of child processes.
    pub tool_context: Arc<ToolSessionContext>,
    pub timeouts: McpTimeouts,
    pub host: Arc<dyn McpHost>,
    /// Shows questions to the user.
    pub prompter: PrompterSlot,
    pub list_cache: Option<ServerListCache>,
    pub login_store: Option<LoginStore>,
    pub connection_listener: McpConnectionListener,
    /// Limits how many servers start at the same time.
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
            connection_listener: McpConnectionListener::default(),
            start_slots,
        }
    }
}

/// Twenty servers starting at once would leave the session no processor time.
const STARTING_MAX: usize = 4;

impl std::fmt::Debug for McpServerContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpServerContext").field("timeouts", &self.timeouts).finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpServerStatus {
    /// The tools are cached from an earlier session; it is connected when one is called.
    Idle,
    Pending,
    Connected,
    /// It could not be started, or was lost too often.
    Failed,
    /// The user must log in first.
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

/// The current state of a server.
#[derive(Clone, Debug)]
pub struct McpServerSnapshot {
    pub status: McpServerStatus,
    /// The reason of a failure.
    pub error: Option<String>,
    /// The known tools.
    pub tools: Arc<[McpToolDescription]>,
    pub prompts: Arc<[McpPromptDescription]>,
    pub description: Option<McpServerDescription>,
    connection: Option<Arc<McpConnection>>,
}

enum ServerActorCommand {
    /// Connect if necessary, and reply when done.
    Connect(oneshot::Sender<Result<Arc<McpConnection>, McpFailure>>),
    Reconnect(oneshot::Sender<Result<Arc<McpConnection>, McpFailure>>),
    SetEnabled(bool),
    /// The lists have changed.
    RefreshLists,
}

/// The handle of one server. Dropping it closes the server.
#[derive(Debug)]
pub struct McpServer {
    config: Arc<McpServerConfig>,
    commands: mpsc::Sender<ServerActorCommand>,
    snapshot: watch::Receiver<McpServerSnapshot>,
    timeouts: McpTimeouts,
    end: CancellationToken,
    /// The fingerprint of each tool when it was first offered, or last allowed after a change.
    first_seen_tools: Mutex<BTreeMap<String, String>>,
}

impl McpServer {
    /// Spawns the actor on the current runtime. It connects at once, unless the tools are cached.
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

    /// Has the tool changed since this session first offered it? A permission for the old one must
    /// not hold for the new one.
    pub(crate) fn has_tool_changed(&self, tool: &str) -> bool {
        let Some(now) = self.tool_fingerprint(tool) else { return false };
        let mut first = self.first_seen_tools.lock().unwrap_or_else(PoisonError::into_inner);
        *first.entry(tool.to_owned()).or_insert_with(|| now.clone()) != now
    }

    /// Records the tool when it is offered to the model.
    pub(crate) fn record_tool(&self, tool: &str) {
        let _ = self.has_tool_changed(tool);
    }

    /// Records that the tool was allowed in its current form.
    pub(crate) fn accept_tool(&self, tool: &str) {
        if let Some(now) = self.tool_fingerprint(tool) {
            let mut first = self.first_seen_tools.lock().unwrap_or_else(PoisonError::into_inner);
            first.insert(tool.to_owned(), now);
        }
    }

    /// A fingerprint of the tool's description and schema.
    fn tool_fingerprint(&self, tool: &str) -> Option<String> {
        let snapshot = self.snapshot.borrow();
        // Compare only lists of this session: a cached one may be outdated.
        snapshot.connection.as_ref()?;
        let facts = snapshot.tools.iter().find(|facts| facts.name == tool)?;
        Some(fingerprint(&serde_json::to_string(facts).ok()?))
    }

    /// The deadline of one call.
    #[must_use]
    pub fn call_limit(&self) -> Duration {
        self.config.call_limit.unwrap_or(self.timeouts.call)
    }

    /// Returns the connection, and connects if there is none.
    ///
    /// # Errors
    ///
    /// The server cannot be connected.
    pub async fn connect(&self) -> Result<Arc<McpConnection>, McpFailure> {
        self.request_connection(ServerActorCommand::Connect).await
    }

    /// Connects again, even if the server has failed or is disabled.
    ///
    /// # Errors
    ///
    /// The server cannot be connected.
    pub async fn reconnect(&self) -> Result<(), McpFailure> {
        self.request_connection(ServerActorCommand::Reconnect).await.map(drop)
    }

    /// Enables or disables it.
    pub async fn set_enabled(&self, is_on: bool) {
        if self.commands.send(ServerActorCommand::SetEnabled(is_on)).await.is_err() {
            return;
        }
        // So that the next caller sees the change at once.
        let mut snapshot = self.snapshot.clone();
        let seen = snapshot.wait_for(|now| (now.status != McpServerStatus::Disabled) == is_on);
        let _ = tokio::time::timeout(SET_ENABLED_MAX, seen).await;
    }

    /// Waits until no connection attempt is in progress.
    pub async fn wait_until_settled(&self) {
        let mut snapshot = self.snapshot.clone();
        let _ = snapshot.wait_for(|now| now.status != McpServerStatus::Pending).await;
    }

    /// Waits until it is connected or has failed. If that takes long, returns a message for the
    /// user.
    pub(crate) async fn wait_until_slow(&self) -> Option<String> {
        let mut snapshot = self.snapshot.clone();
        let has_news =
            |now: &McpServerSnapshot| now.status != McpServerStatus::Pending || now.error.is_some();
        let now = snapshot.wait_for(has_news).await.ok()?;
        let why = now.error.clone().filter(|_| now.status == McpServerStatus::Pending)?;
        Some(format!("The MCP server `{}` is not ready: {why}", self.config.name))
    }

    /// Called after a call was cancelled. Closes the server if it does not answer a ping.
    pub fn probe_after_cancel(&self, connection: &Arc<McpConnection>) {
        let connection = Arc::clone(connection);
        let limit = self.timeouts.ping;
        tokio::spawn(async move {
            if !connection.is_responsive(limit).await {
                connection.hang_up("it gave no sign of life after a call was given up");
            }
        });
    }

    /// Closes it for good.
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

/// Limit for waiting without a message to the user.
const SLOW_AFTER: Duration = Duration::from_secs(10);
/// After this time a caller of `set_enabled` may still see the old state.
const SET_ENABLED_MAX: Duration = Duration::from_secs(2);
