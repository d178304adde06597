//! One configured server: connected when needed, again when it was lost, never for ever.
//!
//! [`Server`] is the handle, `actor` the one task that owns the connection, `memory` what is kept of
//! a server between sessions. Which servers there are is decided elsewhere.

mod actor;
mod memory;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;
use windlass_tool::Surroundings;

use crate::connection::{Connection, Host, PromptFacts, ServerFacts, ToolFacts};
use crate::failure::Failure;
use crate::login::Vault;
use crate::name::fingerprint;
use crate::person::Seat;
use crate::transport::http::HttpOrder;
use crate::transport::process::ProcessOrder;

pub use memory::ListMemory;

/// Orders that may wait for one server.
const COMMANDS_MAX: usize = 64;

/// A server that is configured.
#[derive(Clone, Debug)]
pub struct ServerOrder {
    /// Its name in the configuration.
    pub name: String,
    /// How it is reached.
    pub way: Way,
    /// Where it is configured, in a word: `user`, `project`, `local`, `dynamic`.
    pub scope: String,
    /// Its tools are wanted from the start.
    pub is_always_loaded: bool,
    /// It is not to be used until somebody says so.
    pub is_disabled: bool,
    /// How long one of its calls may take, where that is not as usual.
    pub call_limit: Option<Duration>,
}

impl ServerOrder {
    /// A server with nothing special about it.
    #[must_use]
    pub fn new(name: impl Into<String>, way: Way) -> Self {
        Self {
            name: name.into(),
            way,
            scope: "dynamic".to_owned(),
            is_always_loaded: false,
            is_disabled: false,
            call_limit: None,
        }
    }
}

/// How a server is reached.
#[derive(Clone)]
pub enum Way {
    /// As a process of ours.
    Process(ProcessOrder),
    /// Over HTTP.
    Http(HttpOrder),
    /// Inside this process.
    Inside(Arc<dyn Inside>),
    /// Not at all; why.
    None(String),
}

impl std::fmt::Debug for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Process(order) => order.fmt(f),
            // Headers may hold secrets.
            Self::Http(order) => f.debug_tuple("Http").field(&order.url).finish(),
            Self::Inside(_) => f.write_str("Inside"),
            Self::None(reason) => f.debug_tuple("None").field(reason).finish(),
        }
    }
}

/// A server that lives in this process or behind a front end.
pub trait Inside: Send + Sync {
    /// Two channels: into the first goes what we say, out of the second comes what it says.
    fn open(&self) -> (mpsc::Sender<Value>, mpsc::Receiver<Value>);
}

/// How patient we are with servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// To be there.
    pub connect: Duration,
    /// To answer one call.
    pub call: Duration,
    /// To show a sign of life after a call was given up.
    pub sign: Duration,
    /// Before it is started again the first time; twice that before the second.
    pub restart: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            call: Duration::from_secs(600),
            sign: Duration::from_secs(5),
            restart: Duration::from_millis(500),
        }
    }
}

/// What all servers of a session share.
#[derive(Clone)]
pub struct Common {
    /// Where processes are started, and held by what.
    pub surroundings: Arc<Surroundings>,
    /// How patient we are.
    pub patience: Patience,
    /// Whom servers may ask.
    pub host: Arc<dyn Host>,
    /// Who sits in front, if anybody does.
    pub seat: Seat,
    /// Where lists of tools are kept between sessions.
    pub memory: Option<ListMemory>,
    /// Where what logins gave is kept.
    pub vault: Option<Vault>,
    /// How many may be started at a time.
    pub(crate) starting: Arc<Semaphore>,
}

impl Common {
    /// Servers that can ask nobody and of which nothing is kept.
    #[must_use]
    pub fn new(surroundings: Surroundings, patience: Patience, host: Arc<dyn Host>) -> Self {
        let starting = Arc::new(Semaphore::new(STARTING_MAX));
        Self {
            surroundings: Arc::new(surroundings),
            patience,
            host,
            seat: Seat::none(),
            memory: None,
            vault: None,
            starting,
        }
    }
}

/// Servers started at a time, so that twenty of them do not take the machine from the session.
const STARTING_MAX: usize = 4;

impl std::fmt::Debug for Common {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Common").field("patience", &self.patience).finish_non_exhaustive()
    }
}

/// How it stands with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Its tools are known from an earlier session; it is connected when one is called.
    Idle,
    /// It is being connected.
    Pending,
    /// It is there.
    Connected,
    /// It could not be had, or was lost too often.
    Failed,
    /// Somebody has to log in first.
    NeedsLogin,
    /// It is switched off.
    Disabled,
}

impl Status {
    /// The word clients know.
    #[must_use]
    pub fn word(self) -> &'static str {
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
pub struct Snapshot {
    /// How it stands.
    pub status: Status,
    /// Why, if something went wrong.
    pub error: Option<String>,
    /// Its tools, as far as they are known.
    pub tools: Arc<[ToolFacts]>,
    /// Its prompts.
    pub prompts: Arc<[PromptFacts]>,
    /// What it says of itself.
    pub facts: Option<ServerFacts>,
    connection: Option<Arc<Connection>>,
}

/// What the actor is asked to do.
enum Command {
    /// Connect if it is not, and say when it is there.
    Need(oneshot::Sender<Result<Arc<Connection>, Failure>>),
    /// Connect anew, whatever is.
    Renew(oneshot::Sender<Result<Arc<Connection>, Failure>>),
    /// Switch it on or off.
    Switch(bool),
    /// Its lists are others now.
    Refresh,
}

/// The handle of one server. Dropped, the server is ended.
#[derive(Debug)]
pub struct Server {
    order: Arc<ServerOrder>,
    commands: mpsc::Sender<Command>,
    snapshot: watch::Receiver<Snapshot>,
    patience: Patience,
    end: CancellationToken,
    /// Each tool as it was when it was first seen, or last allowed in spite of a change.
    first: Mutex<BTreeMap<String, String>>,
}

impl Server {
    /// Sets its actor going on the current runtime. It connects at once, unless its tools are known
    /// from an earlier session.
    #[must_use]
    pub fn start(order: ServerOrder, common: &Common) -> Self {
        let order = Arc::new(order);
        let (commands, orders) = mpsc::channel(COMMANDS_MAX);
        let end = CancellationToken::new();
        let (actor, snapshot) =
            actor::Actor::new(Arc::clone(&order), common.clone(), orders, commands.downgrade());
        tokio::spawn(actor.run(end.clone()));
        let (patience, first) = (common.patience, Mutex::default());
        Self { order, commands, snapshot, patience, end, first }
    }

    /// How it is configured.
    #[must_use]
    pub fn order(&self) -> &ServerOrder {
        &self.order
    }

    /// How it is now.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot.borrow().clone()
    }

    /// Is a tool another than it was when this session first looked at it? Whoever allowed the one
    /// has not allowed the other.
    pub(crate) fn has_changed(&self, tool: &str) -> bool {
        let Some(now) = self.likeness(tool) else { return false };
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        *first.entry(tool.to_owned()).or_insert_with(|| now.clone()) != now
    }

    /// A model may be told of this tool from now on.
    pub(crate) fn meet(&self, tool: &str) {
        let _ = self.has_changed(tool);
    }

    /// A tool was allowed as it is now.
    pub(crate) fn accept(&self, tool: &str) {
        if let Some(now) = self.likeness(tool) {
            let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
            first.insert(tool.to_owned(), now);
        }
    }

    /// What a tool says of itself, in short.
    fn likeness(&self, tool: &str) -> Option<String> {
        let snapshot = self.snapshot.borrow();
        // What is only remembered from an earlier session is not held against anybody.
        snapshot.connection.as_ref()?;
        let facts = snapshot.tools.iter().find(|facts| facts.name == tool)?;
        Some(fingerprint(&serde_json::to_string(facts).ok()?))
    }

    /// How long one call may take.
    #[must_use]
    pub fn call_limit(&self) -> Duration {
        self.order.call_limit.unwrap_or(self.patience.call)
    }

    /// The connection, made now if there is none.
    ///
    /// # Errors
    ///
    /// When it cannot be had.
    pub async fn connection(&self) -> Result<Arc<Connection>, Failure> {
        self.ask(Command::Need).await
    }

    /// Connects anew, also what has failed or is switched off.
    ///
    /// # Errors
    ///
    /// When it cannot be had.
    pub async fn reconnect(&self) -> Result<(), Failure> {
        self.ask(Command::Renew).await.map(drop)
    }

    /// Switches it on or off.
    pub async fn switch(&self, is_on: bool) {
        if self.commands.send(Command::Switch(is_on)).await.is_err() {
            return;
        }
        // Whoever looks next sees it.
        let mut snapshot = self.snapshot.clone();
        let seen = snapshot.wait_for(|now| (now.status != Status::Disabled) == is_on);
        let _ = tokio::time::timeout(SWITCH_MAX, seen).await;
    }

    /// Waits until it is no longer being connected.
    pub async fn settled(&self) {
        let mut snapshot = self.snapshot.clone();
        let _ = snapshot.wait_for(|now| now.status != Status::Pending).await;
    }

    /// A call was given up. A server that then gives no sign of life is ended.
    pub fn suspect(&self, connection: &Arc<Connection>) {
        let (connection, sign) = (Arc::clone(connection), self.patience.sign);
        tokio::spawn(async move {
            if !connection.is_responsive(sign).await {
                connection.hang_up("it gave no sign of life after a call was given up");
            }
        });
    }

    /// Ends it; it does not come back.
    pub(crate) fn end(&self) {
        self.end.cancel();
    }

    /// Waits until it has ended.
    pub(crate) async fn ended(&self) {
        self.commands.closed().await;
    }

    async fn ask(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<Arc<Connection>, Failure>>) -> Command,
    ) -> Result<Arc<Connection>, Failure> {
        let gone = || Failure::Gone { reason: "the session is over".to_owned() };
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end.cancel();
    }
}

/// How long a switch is waited for, before whoever looks may see the old state.
const SWITCH_MAX: Duration = Duration::from_secs(2);
