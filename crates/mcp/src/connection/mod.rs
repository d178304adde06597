//! One connection to one server, in our own words: open it, list, call, read, close.
//!
//! The official library speaks the protocol, in both revisions; none of its types leaves this
//! folder. Every wait here has a deadline and ends at once when the connection is gone. When to
//! connect, and again, is decided above.

mod client;
mod facts;
mod follow;
mod health;
mod round;
mod sieve;

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
use windlass_tool::{Progress, Surroundings};

pub(crate) use client::Client;
pub use client::{Asking, Host, List, Question, Reply};
pub use facts::{
    CallReply, PromptFacts, PromptMessage, ReplyPart, ResourceFacts, ServerFacts, ToolFacts,
};
pub(crate) use health::{BAD_MAX, Health, short};

use crate::failure::Failure;
use crate::login::Pass;
use crate::transport::http::{self, HttpOrder};
use crate::transport::process::{ProcessOrder, Spoken};
use crate::transport::two_ended::TwoEnded;
use crate::transport::values::Values;
use sieve::Sieve;

/// Pages of a list that are read, and entries of it that are kept.
const PAGES_MAX: usize = 50;
const ENTRIES_MAX: usize = 2_000;
/// Pages that a refusal may name for the user to visit first.
const PLACES_MAX: usize = 5;
/// How long a server that is told to go may take.
const CLOSE_MAX: Duration = Duration::from_secs(8);

/// The way to a server.
#[derive(Debug)]
pub enum Channel<'a> {
    /// Messages of JSON-RPC handed over inside this process.
    Values {
        /// What we say.
        outgoing: mpsc::Sender<Value>,
        /// What the server says.
        incoming: mpsc::Receiver<Value>,
    },
    /// A process of our own.
    Process {
        /// What to start.
        order: &'a ProcessOrder,
        /// Where, and held by what.
        surroundings: &'a Surroundings,
    },
    /// Somewhere on the network.
    Http(&'a HttpOrder),
    /// Somewhere on the network, as somebody.
    HttpAs(&'a HttpOrder, Pass),
}

/// Which revisions of the protocol are tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Era {
    /// Finds out: the newest first, then the handshake of the older ones.
    #[default]
    Unknown,
    /// With a handshake.
    Handshake,
    /// Without.
    Stateless,
}

/// On which terms one call is made.
#[derive(Clone, Debug)]
pub struct CallTerms {
    /// How long it may take.
    pub limit: Duration,
    /// Ends it early.
    pub cancel: CancellationToken,
    /// Where the server's words of progress go.
    pub progress: Progress,
}

impl CallTerms {
    /// A call that nobody cancels and nobody watches.
    #[must_use]
    pub fn within(limit: Duration) -> Self {
        Self { limit, cancel: CancellationToken::new(), progress: Progress::default() }
    }
}

/// A connection that is open. Dropped, it is closed, and a process of ours killed.
pub struct Connection {
    running: RunningService<RoleClient, Client>,
    health: Arc<Health>,
    facts: ServerFacts,
}

impl Connection {
    /// Opens it.
    ///
    /// # Errors
    ///
    /// When the server cannot be started or reached, does not answer in time, or answers nonsense.
    pub async fn open(
        server: &str,
        channel: Channel<'_>,
        era: Era,
        host: Arc<dyn Host>,
        limit: Duration,
    ) -> Result<Self, Failure> {
        let health = Arc::new(Health::default());
        let client = Client::new(server.to_owned(), host, Arc::clone(&health));
        match channel {
            Channel::Values { outgoing, incoming } => {
                let values = Values { outgoing, incoming, health: Arc::clone(&health) };
                Self::over(values, era, client, limit).await
            }
            Channel::Process { order, surroundings } => {
                let spoken = Spoken::start(order, surroundings, Arc::clone(&health));
                let spoken = spoken.map_err(|error| Failure::Unreachable {
                    reason: format!("`{}`: {error}", order.command),
                })?;
                Self::over(spoken, era, client, limit).await
            }
            Channel::Http(order) if order.is_two_ended => {
                Self::over_two(order, None, client, limit).await
            }
            Channel::HttpAs(order, pass) if order.is_two_ended => {
                Self::over_two(order, Some(pass), client, limit).await
            }
            Channel::Http(order) => Self::over(http::transport(order)?, era, client, limit).await,
            Channel::HttpAs(order, pass) => {
                Self::over(http::transport_as(order, pass)?, era, client, limit).await
            }
        }
    }

    /// The first transport over HTTP. Nothing newer than a handshake was ever spoken over it.
    async fn over_two(
        order: &HttpOrder,
        pass: Option<Pass>,
        client: Client,
        limit: Duration,
    ) -> Result<Self, Failure> {
        let opening = TwoEnded::open(order, pass, Arc::clone(&client.health));
        let late = |_| Failure::TimedOut { what: "the connection".to_owned(), after: limit };
        let opened = tokio::time::timeout(limit, opening).await.map_err(late)??;
        Self::over(opened, Era::Handshake, client, limit).await
    }

    pub(crate) async fn over<T>(
        transport: T,
        era: Era,
        client: Client,
        limit: Duration,
    ) -> Result<Self, Failure>
    where
        T: Transport<RoleClient> + 'static,
    {
        let health = Arc::clone(&client.health);
        let sieve = Sieve::new(transport, Arc::clone(&health));
        let opening = client.serve_with_lifecycle(sieve, mode(era));
        let running = match tokio::time::timeout(limit, opening).await {
            Ok(Ok(running)) => running,
            Ok(Err(error)) => return Err(unopened(&error, &health)),
            Err(_) => return Err(Failure::TimedOut { what: "initialize".into(), after: limit }),
        };
        let told = running.peer().peer_info();
        let facts = told.as_deref().map(ServerFacts::from).unwrap_or_default();
        Ok(Self { running, health, facts })
    }

    /// What the server says of itself.
    #[must_use]
    pub fn facts(&self) -> &ServerFacts {
        &self.facts
    }

    /// Which kind of revision is spoken.
    #[must_use]
    pub fn era(&self) -> Era {
        match self.facts.protocol.as_str() >= ProtocolVersion::NO_INITIALIZE.as_str() {
            true => Era::Stateless,
            false => Era::Handshake,
        }
    }

    /// Why it is gone, if it is.
    #[must_use]
    pub fn gone(&self) -> Option<String> {
        self.health.gone().is_cancelled().then(|| self.health.reason())
    }

    /// Waits until it is gone: why.
    pub async fn until_gone(&self) -> String {
        self.health.gone().cancelled().await;
        self.health.reason()
    }

    /// Waits until everything of it is closed, a process of ours included.
    pub async fn until_closed(&self) {
        self.health.closed().cancelled().await;
    }

    /// What it wrote to standard error, and what of its messages was skipped; the newest last.
    #[must_use]
    pub fn log(&self) -> Vec<String> {
        self.health.lines()
    }

    /// Messages of its own accord that were dropped because there were too many.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.health.dropped_count()
    }

    /// Its tools.
    ///
    /// # Errors
    ///
    /// When it does not answer, or with an error.
    pub async fn tools(&self, limit: Duration) -> Result<Vec<ToolFacts>, Failure> {
        if !self.facts.has_tools {
            return Ok(Vec::new());
        }
        let listing = self.pages(|page| async move {
            let listed = self.running.peer().list_tools(Some(page)).await?;
            Ok((listed.tools, listed.next_cursor))
        });
        self.bounded("tools/list", limit, listing).await
    }

    /// What it lets one read.
    ///
    /// # Errors
    ///
    /// When it does not answer, or with an error.
    pub async fn resources(&self, limit: Duration) -> Result<Vec<ResourceFacts>, Failure> {
        if !self.facts.has_resources {
            return Ok(Vec::new());
        }
        let listing = self.pages(|page| async move {
            let listed = self.running.peer().list_resources(Some(page)).await?;
            Ok((listed.resources, listed.next_cursor))
        });
        self.bounded("resources/list", limit, listing).await
    }

    /// The prompts it has ready.
    ///
    /// # Errors
    ///
    /// When it does not answer, or with an error.
    pub async fn prompts(&self, limit: Duration) -> Result<Vec<PromptFacts>, Failure> {
        if !self.facts.has_prompts {
            return Ok(Vec::new());
        }
        let listing = self.pages(|page| async move {
            let listed = self.running.peer().list_prompts(Some(page)).await?;
            Ok((listed.prompts, listed.next_cursor))
        });
        self.bounded("prompts/list", limit, listing).await
    }

    /// Calls a tool.
    ///
    /// # Errors
    ///
    /// When it does not answer in time, answers with an error, or the call is cancelled. A tool that
    /// fails is not an error here.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        terms: &CallTerms,
    ) -> Result<CallReply, Failure> {
        self.call_rounds(tool, arguments, terms).await
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// When it does not answer in time, or with an error.
    pub async fn read(&self, uri: &str, limit: Duration) -> Result<Vec<ReplyPart>, Failure> {
        let params = rmcp::model::ReadResourceRequestParams::new(uri);
        let reading = async { Ok(facts::contents(self.running.read_resource(params).await?)) };
        self.bounded("resources/read", limit, reading).await
    }

    /// What a prompt says, with these arguments.
    ///
    /// # Errors
    ///
    /// When it does not answer in time, or with an error.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        limit: Duration,
    ) -> Result<Vec<PromptMessage>, Failure> {
        let params = rmcp::model::GetPromptRequestParams::new(name).with_arguments(arguments);
        let asking = async { Ok(facts::messages(self.running.get_prompt(params).await?)) };
        self.bounded("prompts/get", limit, asking).await
    }

    /// Does it still answer at all?
    pub async fn is_responsive(&self, limit: Duration) -> bool {
        let ping = ClientRequest::PingRequest(rmcp::model::PingRequest::default());
        let probe = async {
            match self.era() {
                Era::Stateless => self.running.discover(Default::default()).await.map(drop),
                _ => self.running.send_request(ping).await.map(drop),
            }
        };
        match self.bounded("ping", limit, probe).await {
            Ok(()) | Err(Failure::Refused { .. }) => true,
            Err(_) => false,
        }
    }

    /// Ends it, without waiting: calls under way fail with this reason.
    pub fn hang_up(&self, reason: &str) {
        self.health.end(reason);
        self.running.cancellation_token().cancel();
    }

    /// Listens for changes of the lists, where the server has to be asked to tell.
    pub fn follow_changes(&self) {
        let told = self.running.peer().peer_info();
        let lists = told.as_deref().map(|told| &told.capabilities);
        let has_changes = lists.is_some_and(|lists| {
            lists.tools.as_ref().is_some_and(|tools| tools.list_changed == Some(true))
                || lists.prompts.as_ref().is_some_and(|prompts| prompts.list_changed == Some(true))
        });
        if self.era() == Era::Stateless && has_changes {
            let host = Arc::clone(&self.running.service().host);
            tokio::spawn(follow::changes(
                self.running.peer().clone(),
                host,
                Arc::clone(&self.health),
            ));
        }
    }

    /// Closes it. A process of ours is asked to go, then made to.
    pub async fn close(mut self) {
        let _ = self.running.close_with_timeout(CLOSE_MAX).await;
    }

    async fn pages<T, F: From<T>, P>(
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
            self.health.log(&format!("skipped: a list goes on after {} entries", all.len()));
        }
        all.truncate(ENTRIES_MAX);
        Ok(all)
    }

    /// Waits for an answer, but not for ever, and not for somebody who is gone.
    async fn bounded<T>(
        &self,
        what: &str,
        limit: Duration,
        asking: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            biased;
            answer = asking => answer.map_err(|error| failed(&error, &self.health)),
            () = self.health.gone().cancelled() => Err(Failure::Gone { reason: self.health.reason() }),
            () = tokio::time::sleep(limit) => {
                Err(Failure::TimedOut { what: what.to_owned(), after: limit })
            }
        }
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").field("facts", &self.facts).finish_non_exhaustive()
    }
}

fn mode(era: Era) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::LATEST];
    match era {
        Era::Unknown => ClientLifecycleMode::Auto {
            preferred_versions,
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        },
        Era::Handshake => ClientLifecycleMode::Initialize,
        Era::Stateless => ClientLifecycleMode::Discover { preferred_versions },
    }
}

fn unopened(error: &ClientInitializeError, health: &Health) -> Failure {
    if error.is_authorization_required() || error.auth_challenge().is_some() {
        let challenge = error.auth_challenge().unwrap_or_default().to_owned();
        return Failure::NeedsLogin { challenge };
    }
    match error {
        ClientInitializeError::ConnectionClosed(_) => Failure::Gone { reason: health.reason() },
        ClientInitializeError::TransportError { error, .. } => {
            Failure::Unreachable { reason: chain(error.error.as_ref()) }
        }
        ClientInitializeError::JsonRpcError(told) => {
            Failure::Refused { code: told.code.0, message: short(&told.message, 2_000) }
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => unopened(fallback, health),
        ClientInitializeError::Cancelled => Failure::Cancelled,
        other => Failure::Nonsense { reason: short(&other.to_string(), 400) },
    }
}

fn failed(error: &ServiceError, health: &Health) -> Failure {
    match error {
        ServiceError::McpError(told) => {
            let mut message = short(&told.message, 2_000);
            let asked = told.data.as_ref().and_then(|data| data.get("elicitations")?.as_array());
            let pages = asked.into_iter().flatten().filter_map(|one| one.get("url")?.as_str());
            for page in pages.take(PLACES_MAX) {
                message = format!("{message}; the user has to visit {}", short(page, 500));
            }
            Failure::Refused { code: told.code.0, message }
        }
        ServiceError::TransportClosed => Failure::Gone { reason: health.reason() },
        ServiceError::TransportSend(error) => match challenge(error.error.as_ref()) {
            Some(challenge) => Failure::NeedsLogin { challenge },
            None => Failure::Gone { reason: chain(error.error.as_ref()) },
        },
        ServiceError::Cancelled { .. } => Failure::Cancelled,
        ServiceError::Timeout { timeout } => {
            Failure::TimedOut { what: "an answer".to_owned(), after: *timeout }
        }
        other => Failure::Nonsense { reason: short(&other.to_string(), 400) },
    }
}

/// What the server wants before it answers, if that is why it did not.
fn challenge(error: &(dyn std::error::Error + 'static)) -> Option<String> {
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

/// An error and what caused it, each once.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let text = next.to_string();
        if !words.contains(&text) {
            words = format!("{words}: {text}");
        }
        cause = next.source();
    }
    short(&words, 400)
}
