//! One connection to one server: open, list, call, read, close.
//!
//! The official library implements both protocol revisions; none of its types leaves this folder.
//! Every wait has a deadline and ends at once when the connection is closed. The caller decides
//! when to connect and reconnect.

mod call_rounds;
mod client;
mod descriptions;
mod health;
mod list_changes;
mod message_filter;

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ClientRequest, PaginatedRequestParams, ProtocolVersion};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService,
    ServiceError,
};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use windlass_tool::running_time::{self, RunningTimer};
use windlass_tool::{ProgressSender, ToolSessionContext, TraceContext};

pub(crate) use client::McpClient;
pub use client::{ElicitationFuture, ElicitationReply, ElicitationRequest, McpHost, McpListKind};
pub use descriptions::{
    McpCallReply, McpContent, McpPromptDescription, McpPromptMessage, McpResourceDescription,
    McpServerDescription, McpToolDescription,
};
pub(crate) use health::{BAD_MAX, ConnectionHealth, clean_excerpt};

use crate::failure::McpFailure;
use crate::login::OauthAccess;
use crate::transport::http::{self, HttpServerConfig};
use crate::transport::in_process::InProcessTransport;
use crate::transport::legacy_sse::LegacySseTransport;
use crate::transport::stdio::{StdioServerConfig, StdioTransport};
use crate::transport::websocket::{WebSocketTransport, is_websocket};
use message_filter::FilteredTransport;

/// Limits on the pages read of a list, and on the entries kept.
const PAGES_MAX: usize = 50;
const ENTRIES_MAX: usize = 2_000;
/// Limits the pages that an error response may ask the user to visit first.
const VISIT_PAGES_MAX: usize = 5;
/// How long a server may take to shut down.
const CLOSE_MAX: Duration = Duration::from_secs(8);

/// The transport to a server.
#[derive(Debug)]
pub enum McpChannel<'a> {
    /// JSON-RPC messages passed inside this process.
    InProcess {
        outgoing: mpsc::Sender<Value>,
        incoming: mpsc::Receiver<Value>,
    },
    /// A child process.
    Process {
        config: &'a StdioServerConfig,
        /// Its working directory and confinement.
        tool_context: &'a ToolSessionContext,
    },
    Http(&'a HttpServerConfig),
    /// HTTP with the user's login.
    HttpAuthorized(&'a HttpServerConfig, OauthAccess),
}

/// Which protocol revisions are tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProtocolEra {
    /// Tries the newest revision first, then the handshake of the older ones.
    #[default]
    Unknown,
    Handshake,
    Stateless,
}

#[derive(Clone, Debug)]
pub struct McpCallOptions {
    /// The deadline.
    pub limit: Duration,
    pub cancel: CancellationToken,
    /// Receives the server's progress messages.
    pub progress: ProgressSender,
    /// Sent to the server, so that it can continue the trace.
    pub trace_context: Option<TraceContext>,
}

impl McpCallOptions {
    /// A call without cancellation and progress.
    #[must_use]
    pub fn with_limit(limit: Duration) -> Self {
        Self {
            limit,
            cancel: CancellationToken::new(),
            progress: ProgressSender::default(),
            trace_context: None,
        }
    }
}

/// An open connection. Dropping it closes it and kills its child process.
pub struct McpConnection {
    running: RunningService<RoleClient, McpClient>,
    health: Arc<ConnectionHealth>,
    description: McpServerDescription,
}

impl McpConnection {
    ///
    /// # Errors
    ///
    /// The server cannot be started or reached, does not answer in time, or sends invalid answers.
    pub async fn open(
        server: &str,
        channel: McpChannel<'_>,
        era: ProtocolEra,
        host: Arc<dyn McpHost>,
        limit: Duration,
    ) -> Result<Self, McpFailure> {
        let health = Arc::new(ConnectionHealth::default());
        let client = McpClient::new(server.to_owned(), host, Arc::clone(&health));
        match channel {
            McpChannel::InProcess { outgoing, incoming } => {
                let values = InProcessTransport { outgoing, incoming, health: Arc::clone(&health) };
                Self::connect_over(values, era, client, limit).await
            }
            McpChannel::Process { config, tool_context } => {
                let spoken = StdioTransport::start(config, tool_context, Arc::clone(&health));
                let spoken = spoken.map_err(|error| McpFailure::Unreachable {
                    reason: format!("`{}`: {error}", config.command),
                })?;
                Self::connect_over(spoken, era, client, limit).await
            }
            McpChannel::Http(config) if is_websocket(&config.url) => {
                Self::connect_websocket(config, None, era, client, limit).await
            }
            McpChannel::HttpAuthorized(config, access) if is_websocket(&config.url) => {
                Self::connect_websocket(config, Some(access), era, client, limit).await
            }
            McpChannel::Http(config) if config.is_legacy_sse => {
                Self::connect_legacy_sse(config, None, client, limit).await
            }
            McpChannel::HttpAuthorized(config, access) if config.is_legacy_sse => {
                Self::connect_legacy_sse(config, Some(access), client, limit).await
            }
            McpChannel::Http(config) => {
                Self::connect_over(http::build_transport(config)?, era, client, limit).await
            }
            McpChannel::HttpAuthorized(config, access) => {
                Self::connect_over(
                    http::build_authorized_transport(config, access)?,
                    era,
                    client,
                    limit,
                )
                .await
            }
        }
    }

    /// Connects over the first HTTP transport, which only has the handshake revisions.
    async fn connect_legacy_sse(
        config: &HttpServerConfig,
        access: Option<OauthAccess>,
        client: McpClient,
        limit: Duration,
    ) -> Result<Self, McpFailure> {
        let opening = LegacySseTransport::open(config, access, Arc::clone(&client.health));
        let late = |_| McpFailure::TimedOut { what: "the connection".to_owned(), after: limit };
        let opened = running_time::timeout(limit, opening).await.map_err(late)??;
        Self::connect_over(opened, ProtocolEra::Handshake, client, limit).await
    }

    async fn connect_websocket(
        config: &HttpServerConfig,
        access: Option<OauthAccess>,
        era: ProtocolEra,
        client: McpClient,
        limit: Duration,
    ) -> Result<Self, McpFailure> {
        let opening = WebSocketTransport::open(config, access, Arc::clone(&client.health));
        let late = |_| McpFailure::TimedOut { what: "the connection".to_owned(), after: limit };
        let opened = running_time::timeout(limit, opening).await.map_err(late)??;
        Self::connect_over(opened, era, client, limit).await
    }

    pub(crate) async fn connect_over<T>(
        transport: T,
        era: ProtocolEra,
        client: McpClient,
        limit: Duration,
    ) -> Result<Self, McpFailure>
    where
        T: Transport<RoleClient> + 'static,
    {
        let health = Arc::clone(&client.health);
        let sieve = FilteredTransport::new(transport, Arc::clone(&health));
        let opening = client.serve_with_lifecycle(sieve, lifecycle_mode(era));
        let running = match running_time::timeout(limit, opening).await {
            Ok(Ok(running)) => running,
            Ok(Err(error)) => return Err(to_open_failure(&error, &health)),
            Err(_) => return Err(McpFailure::TimedOut { what: "initialize".into(), after: limit }),
        };
        let peer = running.peer().peer_info();
        let description = peer.as_deref().map(McpServerDescription::from).unwrap_or_default();
        Ok(Self { running, health, description })
    }

    #[must_use]
    pub fn description(&self) -> &McpServerDescription {
        &self.description
    }

    /// The protocol era in use.
    #[must_use]
    pub fn era(&self) -> ProtocolEra {
        match self.description.protocol.as_str() >= ProtocolVersion::NO_INITIALIZE.as_str() {
            true => ProtocolEra::Stateless,
            false => ProtocolEra::Handshake,
        }
    }

    /// Why the connection was closed; `None` while it is open.
    #[must_use]
    pub fn gone_reason(&self) -> Option<String> {
        self.health.gone_token().is_cancelled().then(|| self.health.reason())
    }

    /// Waits until the connection is closed and returns the reason.
    pub async fn wait_until_gone(&self) -> String {
        self.health.gone_token().cancelled().await;
        self.health.reason()
    }

    /// Waits until all resources are released, including a child process.
    pub async fn wait_until_closed(&self) {
        self.health.closed_token().cancelled().await;
    }

    /// The server's standard error and the skipped messages, newest last.
    #[must_use]
    pub fn log_lines(&self) -> Vec<String> {
        self.health.log_lines()
    }

    /// Notifications dropped for the rate limit.
    #[must_use]
    pub fn dropped_count(&self) -> u64 {
        self.health.dropped_count()
    }

    /// Lists the tools.
    ///
    /// # Errors
    ///
    /// The server does not answer in time, or answers with an error.
    pub async fn list_tools(&self, limit: Duration) -> Result<Vec<McpToolDescription>, McpFailure> {
        if !self.description.has_tools {
            return Ok(Vec::new());
        }
        let listing = self.collect_pages(|page| async move {
            let listed = self.running.peer().list_tools(Some(page)).await?;
            Ok((listed.tools, listed.next_cursor))
        });
        self.await_answer("tools/list", limit, listing).await
    }

    /// Lists the resources.
    ///
    /// # Errors
    ///
    /// The server does not answer in time, or answers with an error.
    pub async fn list_resources(
        &self,
        limit: Duration,
    ) -> Result<Vec<McpResourceDescription>, McpFailure> {
        if !self.description.has_resources {
            return Ok(Vec::new());
        }
        let listing = self.collect_pages(|page| async move {
            let listed = self.running.peer().list_resources(Some(page)).await?;
            Ok((listed.resources, listed.next_cursor))
        });
        self.await_answer("resources/list", limit, listing).await
    }

    /// Lists the prompts.
    ///
    /// # Errors
    ///
    /// The server does not answer in time, or answers with an error.
    pub async fn list_prompts(
        &self,
        limit: Duration,
    ) -> Result<Vec<McpPromptDescription>, McpFailure> {
        if !self.description.has_prompts {
            return Ok(Vec::new());
        }
        let listing = self.collect_pages(|page| async move {
            let listed = self.running.peer().list_prompts(Some(page)).await?;
            Ok((listed.prompts, listed.next_cursor))
        });
        self.await_answer("prompts/list", limit, listing).await
    }

    /// Calls a tool.
    ///
    /// # Errors
    ///
    /// The server does not answer in time or answers with an error, or the call is cancelled. A
    /// tool that fails is not an error here.
    pub async fn call_tool(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        terms: &McpCallOptions,
    ) -> Result<McpCallReply, McpFailure> {
        self.call_rounds(tool, arguments, terms).await
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// The server does not answer in time, or answers with an error.
    pub async fn read_resource(
        &self,
        uri: &str,
        limit: Duration,
    ) -> Result<Vec<McpContent>, McpFailure> {
        let params = rmcp::model::ReadResourceRequestParams::new(uri);
        let reading =
            async { Ok(descriptions::into_contents(self.running.read_resource(params).await?)) };
        self.await_answer("resources/read", limit, reading).await
    }

    /// Returns the messages of a prompt with these arguments.
    ///
    /// # Errors
    ///
    /// The server does not answer in time, or answers with an error.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        limit: Duration,
    ) -> Result<Vec<McpPromptMessage>, McpFailure> {
        let params = rmcp::model::GetPromptRequestParams::new(name).with_arguments(arguments);
        let asking =
            async { Ok(descriptions::into_messages(self.running.get_prompt(params).await?)) };
        self.await_answer("prompts/get", limit, asking).await
    }

    /// Pings the server.
    pub async fn is_responsive(&self, limit: Duration) -> bool {
        let ping = ClientRequest::PingRequest(rmcp::model::PingRequest::default());
        let probe = async {
            match self.era() {
                ProtocolEra::Stateless => self.running.discover(Default::default()).await.map(drop),
                ProtocolEra::Unknown | ProtocolEra::Handshake => {
                    self.running.send_request(ping).await.map(drop)
                }
            }
        };
        match self.await_answer("ping", limit, probe).await {
            Ok(()) | Err(McpFailure::Refused { .. }) => true,
            Err(_) => false,
        }
    }

    /// Closes the connection without waiting. Pending calls fail with this reason.
    pub fn hang_up(&self, reason: &str) {
        self.health.mark_gone(reason);
        self.running.cancellation_token().cancel();
    }

    /// Subscribes to list changes, if this server reports them only to a subscriber.
    pub fn follow_list_changes(&self) {
        let peer = self.running.peer().peer_info();
        let lists = peer.as_deref().map(|peer| &peer.capabilities);
        let has_changes = lists.is_some_and(|lists| {
            lists.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true))
                || lists.prompts.as_ref().is_some_and(|prompts| prompts.list_changed == Some(true))
        });
        if self.era() == ProtocolEra::Stateless && has_changes {
            let host = Arc::clone(&self.running.service().host);
            tokio::spawn(list_changes::follow_list_changes(
                self.running.peer().clone(),
                host,
                Arc::clone(&self.health),
            ));
        }
    }

    /// Closes the connection. A child process is asked to exit, then killed.
    pub async fn close(mut self) {
        let _ = self.running.close_with_timeout(CLOSE_MAX).await;
    }

    async fn collect_pages<T, F: From<T>, P>(
        &self,
        mut page: impl FnMut(PaginatedRequestParams) -> P,
    ) -> Result<Vec<F>, ServiceError>
    where
        P: Future<Output = Result<(Vec<T>, Option<String>), ServiceError>>,
    {
        let mut all = Vec::new();
        let mut cursor = None;
        for _ in 0..PAGES_MAX {
            let params = PaginatedRequestParams::default().with_cursor(cursor.take());
            let (entries, next) = page(params).await?;
            all.extend(entries.into_iter().map(F::from));
            cursor = next;
            if cursor.is_none() || all.len() >= ENTRIES_MAX {
                break;
            }
        }
        if all.len() > ENTRIES_MAX || cursor.is_some() {
            self.health.log_skipped(&format!("a list goes on after {} entries", all.len()));
        }
        all.truncate(ENTRIES_MAX);
        Ok(all)
    }

    /// Waits for a response, until the deadline or until the connection is closed.
    async fn await_answer<T>(
        &self,
        what: &str,
        limit: Duration,
        asking: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, McpFailure> {
        tokio::select! {
            biased;
            answer = asking => answer.map_err(|error| to_call_failure(&error, &self.health)),
            () = self.health.gone_token().cancelled() => Err(McpFailure::Gone { reason: self.health.reason() }),
            () = RunningTimer::new(limit) => {
                Err(McpFailure::TimedOut { what: what.to_owned(), after: limit })
            }
        }
    }
}

impl std::fmt::Debug for McpConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpConnection")
            .field("description", &self.description)
            .finish_non_exhaustive()
    }
}

fn lifecycle_mode(era: ProtocolEra) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::LATEST];
    match era {
        ProtocolEra::Unknown => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
        ProtocolEra::Handshake => ClientLifecycleMode::Initialize,
        ProtocolEra::Stateless => ClientLifecycleMode::Discover { preferred_versions },
    }
}

fn to_open_failure(error: &ClientInitializeError, health: &ConnectionHealth) -> McpFailure {
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        let challenge = error.auth_challenge().unwrap_or_default().to_owned();
        return McpFailure::NeedsLogin { challenge };
    }
    match error {
        ClientInitializeError::ConnectionClosed(_) => McpFailure::Gone { reason: health.reason() },
        ClientInitializeError::TransportError { error, .. } => {
            McpFailure::Unreachable { reason: join_error_chain(error.error.as_ref()) }
        }
        ClientInitializeError::JsonRpcError(peer_error) => McpFailure::Refused {
            code: peer_error.code.0,
            message: clean_excerpt(&peer_error.message, 2_000),
        },
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
            to_open_failure(fallback, health)
        }
        ClientInitializeError::Cancelled => McpFailure::Cancelled,
        other => McpFailure::ProtocolViolation { reason: clean_excerpt(&other.to_string(), 400) },
    }
}

fn to_call_failure(error: &ServiceError, health: &ConnectionHealth) -> McpFailure {
    match error {
        ServiceError::McpError(peer_error) => {
            let mut message = clean_excerpt(&peer_error.message, 2_000);
            let elicitations =
                peer_error.data.as_ref().and_then(|data| data.get("elicitations")?.as_array());
            let pages =
                elicitations.into_iter().flatten().filter_map(|one| one.get("url")?.as_str());
            for page in pages.take(VISIT_PAGES_MAX) {
                message = format!("{message}; the user has to visit {}", clean_excerpt(page, 500));
            }
            McpFailure::Refused { code: peer_error.code.0, message }
        }
        ServiceError::TransportClosed => McpFailure::Gone { reason: health.reason() },
        ServiceError::TransportSend(error) => match find_auth_challenge(error.error.as_ref()) {
            Some(challenge) => McpFailure::NeedsLogin { challenge },
            None => McpFailure::Gone { reason: join_error_chain(error.error.as_ref()) },
        },
        ServiceError::Cancelled { .. } => McpFailure::Cancelled,
        ServiceError::Timeout { timeout } => {
            McpFailure::TimedOut { what: "an answer".to_owned(), after: *timeout }
        }
        other => McpFailure::ProtocolViolation { reason: clean_excerpt(&other.to_string(), 400) },
    }
}

/// The authentication challenge that caused the error, if there is one.
fn find_auth_challenge(error: &(dyn std::error::Error + 'static)) -> Option<String> {
    let mut cause = Some(error);
    while let Some(now) = cause {
        if let Some(wanted) = now.downcast_ref::<AuthRequiredError>() {
            return Some(wanted.www_authenticate_header.clone());
        }
        if let Some(wanted) = now.downcast_ref::<InsufficientScopeError>() {
            return Some(wanted.www_authenticate_header.clone());
        }
        cause = now.source();
    }
    None
}

/// The messages of an error and its sources, without duplicates.
pub(crate) fn join_error_chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let text = next.to_string();
        if !words.contains(&text) {
            words = format!("{words}: {text}");
        }
        cause = next.source();
    }
    clean_excerpt(&words, 400)
}
