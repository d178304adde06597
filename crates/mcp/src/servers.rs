//! All servers of a session: their tools as one source, their state as a list.
//!
//! Servers are held in the order they are configured in, and so are their tools, because a
//! provider's prompt cache is lost when an earlier one moves.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use serde_json::{Map, Value};
use windlass_tool::{Registry, Source, Tool};

use crate::connection::{CallReply, CallTerms, ReplyPart, ServerFacts};
use crate::failure::Failure;
use crate::name;
use crate::person::Person;
use crate::server::{Common, Server, ServerOrder, Status};
use crate::tool::{Caps, ListResources, ReadResource, RemoteTool};

/// Tokens of a result that are shown, unless settings say otherwise.
const OUTPUT_TOKENS: usize = 25_000;
/// Tools of all servers together that are offered from the start may have this many bytes.
const OFFERED_BYTES_MAX: usize = 6_000;
/// How long a search waits for servers that are on their way.
const SEARCH_WAITS: Duration = Duration::from_secs(10);

/// How long servers may take to go at the end.
const CLOSE_MAX: Duration = Duration::from_secs(3);

/// All servers of a session. Clones are the same servers; when the last is dropped, they end.
#[derive(Clone)]
pub struct Servers {
    pub(crate) set: Arc<Set>,
}

/// What the handles share.
pub(crate) struct Set {
    common: Common,
    servers: Mutex<Vec<Arc<Server>>>,
    pub(crate) caps: Caps,
    /// What a model is told of them, as of the start.
    words: String,
    me: Weak<Set>,
}

/// A server as a front end shows it.
#[derive(Clone, Debug)]
pub struct ServerStatus {
    /// Its name in the configuration.
    pub name: String,
    /// How it stands.
    pub status: Status,
    /// Why, if something went wrong.
    pub error: Option<String>,
    /// What it says of itself.
    pub facts: Option<ServerFacts>,
    /// Where it is configured.
    pub scope: String,
    /// Its tools, by the names a model calls them.
    pub tools: Vec<String>,
}

impl Servers {
    /// Sets them all going, each by itself; returns at once.
    #[must_use]
    pub fn start(orders: Vec<ServerOrder>, common: Common, output_tokens: Option<usize>) -> Self {
        let names: Vec<&str> = orders
            .iter()
            .map(|order| order.name.as_str())
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect();
        let words = match names.is_empty() {
            true => "MCP servers may offer more.".to_owned(),
            false => format!(
                "The MCP servers {} offer more; search for what is needed, or for `mcp__` and a server.",
                names.join(", ")
            ),
        };
        let servers: Vec<Arc<Server>> =
            orders.into_iter().map(|order| Arc::new(Server::start(order, &common))).collect();
        let caps = Caps::of_tokens(output_tokens.unwrap_or(OUTPUT_TOKENS));
        let set = Arc::new_cyclic(|me| Set {
            common,
            servers: Mutex::new(servers),
            caps,
            words,
            me: Weak::clone(me),
        });
        Self { set }
    }

    /// Puts their tools behind a registry. Those that are known already, wanted from the start or
    /// few and small, are offered; all others are found by searching.
    pub fn attach(&self, registry: &mut Registry) {
        self.offer(registry);
        registry.attach(Arc::new(Behind(Arc::clone(&self.set))));
    }

    /// Offers those of their tools that are known by now and were not when they were attached.
    pub fn offer(&self, registry: &mut Registry) {
        let mut room = OFFERED_BYTES_MAX;
        for (tool, is_always_loaded) in self.set.remote() {
            let weight = tool.weight();
            if is_always_loaded || weight <= room {
                room = room.saturating_sub(weight);
                registry.insert(tool);
            }
        }
    }

    /// Somebody sits down in front, whom servers may ask from now on; only where a seat was kept.
    pub fn seat(&self, person: Arc<dyn Person>) {
        self.set.common.seat.take(person);
    }

    /// Adds a server while the session runs, in place of one of the same name.
    pub fn add(&self, order: ServerOrder) {
        let server = Arc::new(Server::start(order, &self.set.common));
        let mut servers = self.set.lock();
        servers.retain(|known| known.order().name != server.order().name);
        servers.push(server);
    }

    /// Is there one of this name?
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.set.server(name).is_some()
    }

    /// Ends a server. Says whether it was there.
    pub fn remove(&self, name: &str) -> bool {
        let mut servers = self.set.lock();
        let before = servers.len();
        servers.retain(|known| known.order().name != name);
        servers.len() < before
    }

    /// How it stands with each, in their order.
    #[must_use]
    pub fn status(&self) -> Vec<ServerStatus> {
        let names = self.set.names();
        let status = |(server, tools): (Arc<Server>, Vec<String>)| {
            let now = server.snapshot();
            let order = server.order();
            ServerStatus {
                name: order.name.clone(),
                status: now.status,
                error: now.error,
                facts: now.facts,
                scope: order.scope.clone(),
                tools,
            }
        };
        names.into_iter().map(status).collect()
    }

    /// Waits until none is being connected any more, but not longer than this.
    pub async fn settled(&self, limit: Duration) {
        let waiting = async {
            for server in self.set.servers() {
                server.settled().await;
            }
        };
        let _ = tokio::time::timeout(limit, waiting).await;
    }

    /// Connects one if it is not connected.
    ///
    /// # Errors
    ///
    /// When there is none of this name or it cannot be had.
    pub async fn reach(&self, name: &str) -> Result<(), Failure> {
        self.set.named_server(name)?.connection().await.map(drop)
    }

    /// Ends them all and waits until their processes are gone, for a while.
    pub async fn close(&self) {
        let servers = std::mem::take(&mut *self.set.lock());
        for server in &servers {
            server.end();
        }
        let ending = async {
            for server in &servers {
                server.ended().await;
            }
        };
        let _ = tokio::time::timeout(CLOSE_MAX, ending).await;
    }

    /// Connects one anew.
    ///
    /// # Errors
    ///
    /// When there is none of this name or it cannot be had.
    pub async fn reconnect(&self, name: &str) -> Result<(), Failure> {
        self.set.named_server(name)?.reconnect().await
    }

    /// Calls a tool outside of any conversation, on behalf of whoever drives the session. Nothing is
    /// asked first.
    ///
    /// # Errors
    ///
    /// When there is no such server, it cannot be had, or it does not answer in time.
    pub async fn call(
        &self,
        server: &str,
        tool: &str,
        arguments: Map<String, Value>,
        limit: Duration,
    ) -> Result<CallReply, Failure> {
        let connection = self.set.named_server(server)?.connection().await?;
        connection.call(tool, arguments, &CallTerms::within(limit)).await
    }

    /// Reads a resource outside of any conversation, on behalf of whoever drives the session.
    ///
    /// # Errors
    ///
    /// When there is no such server, it cannot be had, or it does not answer in time.
    pub async fn read(&self, server: &str, uri: &str) -> Result<Vec<ReplyPart>, Failure> {
        let server = self.set.named_server(server)?;
        server.connection().await?.read(uri, server.call_limit()).await
    }

    /// Switches one on or off.
    ///
    /// # Errors
    ///
    /// When there is none of this name.
    pub async fn switch(&self, name: &str, is_on: bool) -> Result<(), Failure> {
        self.set.named_server(name)?.switch(is_on).await;
        Ok(())
    }
}

impl std::fmt::Debug for Servers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let servers = self.set.servers();
        f.debug_list().entries(servers.iter().map(|server| &server.order().name)).finish()
    }
}

impl Set {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Server>>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn servers(&self) -> Vec<Arc<Server>> {
        self.lock().clone()
    }

    pub(crate) fn server(&self, name: &str) -> Option<Arc<Server>> {
        self.lock().iter().find(|server| server.order().name == name).cloned()
    }

    /// The names of all, in words.
    pub(crate) fn named(&self) -> String {
        let names: Vec<String> =
            self.servers().iter().map(|server| server.order().name.clone()).collect();
        match names.is_empty() {
            true => "There are none.".to_owned(),
            false => format!("There are: {}.", names.join(", ")),
        }
    }

    pub(crate) fn named_server(&self, name: &str) -> Result<Arc<Server>, Failure> {
        let missing = || Failure::Unreachable {
            reason: format!("there is no MCP server `{name}`. {}", self.named()),
        };
        self.server(name).ok_or_else(missing)
    }

    /// Each server with the names of its tools.
    fn names(&self) -> Vec<(Arc<Server>, Vec<String>)> {
        let mut taken = BTreeSet::new();
        let named = |server: Arc<Server>| {
            let tools = server.snapshot().tools;
            let real = tools.iter().map(|tool| tool.name.as_str());
            let names = name::names(&server.order().name, real, &mut taken);
            (server, names)
        };
        self.servers().into_iter().map(named).collect()
    }

    /// All tools that are known, and whether each is wanted from the start.
    fn remote(&self) -> Vec<(Arc<RemoteTool>, bool)> {
        let mut all = Vec::new();
        for (server, names) in self.names() {
            let now = server.snapshot();
            if now.status == Status::Disabled {
                continue;
            }
            let is_always_loaded = server.order().is_always_loaded;
            for (name, facts) in names.into_iter().zip(now.tools.iter()) {
                server.meet(&facts.name);
                let tool = RemoteTool::known(&name, facts, Arc::clone(&server), self.caps);
                all.push((Arc::new(tool), is_always_loaded));
            }
        }
        all
    }
}

/// The servers behind a registry.
struct Behind(Arc<Set>);

impl Source for Behind {
    fn words(&self) -> String {
        self.0.words.clone()
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let remote = self.0.remote().into_iter().map(|(tool, _)| tool as Arc<dyn Tool>);
        let lists = ListResources::new(Weak::clone(&self.0.me), self.0.caps);
        let reads = ReadResource::new(Weak::clone(&self.0.me), self.0.caps);
        let ours: [Arc<dyn Tool>; 2] = [Arc::new(lists), Arc::new(reads)];
        remote.chain(ours).collect()
    }

    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let known = self.tools().into_iter().find(|tool| tool.spec().name.as_str() == name);
        known.or_else(|| {
            // Its server may not have said yet what it has.
            let servers = self.0.servers();
            let server = servers.into_iter().find(|server| {
                let now = server.snapshot();
                now.tools.is_empty()
                    && now.status != Status::Disabled
                    && name.starts_with(&name::prefix(&server.order().name))
            })?;
            Some(Arc::new(RemoteTool::expected(name, server, self.0.caps)))
        })
    }

    fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            let servers = Servers { set: Arc::clone(&self.0) };
            servers.settled(SEARCH_WAITS).await;
        })
    }
}
