//! All servers of a session: their tools as one source, and their status.
//!
//! Servers and their tools keep the order of configuration, because moving an earlier tool
//! invalidates the provider's prompt cache.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use serde_json::{Map, Value};
use windlass_tool::{Tool, ToolRegistry, ToolSource};

use crate::connection::{
    McpCallOptions, McpCallReply, McpContent, McpServerDescription, McpToolDescription,
};
use crate::elicitation_prompter::ElicitationPrompter;
use crate::failure::McpFailure;
use crate::server::{McpServer, McpServerConfig, McpServerContext, McpServerStatus};
use crate::server_instructions::ServerInstructions;
use crate::tool::{ListMcpResources, McpResultCaps, ReadMcpResource, RemoteTool};
use crate::tool_names;

/// Default limit on the tokens of a result.
const OUTPUT_TOKENS: usize = 25_000;
/// Limit on the bytes of all tools offered from the start.
const UPFRONT_TOOL_BYTES_MAX: usize = 6_000;
/// Limit on the tool names listed to the model from the start.
const TOOL_NAMES_BYTES_MAX: usize = 1_000;
/// How long a tool search waits for servers that are still connecting.
const SEARCH_WAIT_MAX: Duration = Duration::from_secs(10);

/// How long servers may take to exit at the end of a session.
const CLOSE_MAX: Duration = Duration::from_secs(3);

/// All servers of a session. Clones share them; dropping the last one closes them.
#[derive(Clone)]
pub struct McpServers {
    pub(crate) set: Arc<McpServerSet>,
}

pub(crate) struct McpServerSet {
    context: McpServerContext,
    servers: Mutex<Vec<Arc<McpServer>>>,
    pub(crate) caps: McpResultCaps,
    /// The description of all servers for the model, computed on first use and then stable.
    search_hint: OnceLock<String>,
    instructions: ServerInstructions,
    self_weak: Weak<McpServerSet>,
}

/// The status of a server for a front end.
#[derive(Clone, Debug)]
pub struct McpServerReport {
    pub name: String,
    pub status: McpServerStatus,
    /// The reason of a failure.
    pub error: Option<String>,
    pub description: Option<McpServerDescription>,
    pub scope: String,
    /// Its tools by the names the model uses.
    pub tools: Vec<String>,
}

impl McpServers {
    /// Starts each server in a task of its own; returns at once.
    #[must_use]
    pub fn start(
        configs: Vec<McpServerConfig>,
        context: McpServerContext,
        output_tokens: Option<usize>,
    ) -> Self {
        let servers: Vec<Arc<McpServer>> = configs
            .into_iter()
            .map(|config| Arc::new(McpServer::start(config, &context)))
            .collect();
        let caps = McpResultCaps::from_tokens(output_tokens.unwrap_or(OUTPUT_TOKENS));
        let set = Arc::new_cyclic(|me| McpServerSet {
            context,
            servers: Mutex::new(servers),
            caps,
            search_hint: OnceLock::new(),
            instructions: ServerInstructions::default(),
            self_weak: Weak::clone(me),
        });
        Self { set }
    }

    /// Adds their tools to a registry. Tools that are known and either always loaded or few and
    /// small are offered at once; all others are found by search.
    pub fn attach(&self, registry: &mut ToolRegistry) {
        self.register_known_tools(registry);
        registry.attach_source(Arc::new(McpToolSource(Arc::clone(&self.set))));
    }

    /// Offers tools that became known after they were attached.
    pub fn register_known_tools(&self, registry: &mut ToolRegistry) {
        let mut room = UPFRONT_TOOL_BYTES_MAX;
        for (server, tools) in self.set.build_tools_by_server() {
            let weight: usize = tools.iter().map(|tool| tool.prompt_bytes()).sum();
            // Offer all tools of a server or none: the model would not search for the rest of a
            // partial set.
            if server.config().is_always_loaded || weight <= room {
                room = room.saturating_sub(weight);
                for tool in tools {
                    registry.insert(tool);
                }
            }
        }
    }

    /// Lets servers ask the user from now on, if a [`PrompterSlot`](crate::PrompterSlot) was reserved.
    pub fn set_prompter(&self, prompter: Arc<dyn ElicitationPrompter>) {
        self.set.context.prompter.set_prompter(prompter);
    }

    /// Adds a server during the session, and replaces one of the same name.
    pub fn add(&self, config: McpServerConfig) {
        let server = Arc::new(McpServer::start(config, &self.set.context));
        let mut servers = self.set.lock();
        servers.retain(|known| known.config().name != server.config().name);
        servers.push(server);
    }

    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.set.find_server(name).is_some()
    }

    /// Closes a server. Returns whether it existed.
    pub fn remove(&self, name: &str) -> bool {
        let mut servers = self.set.lock();
        let before = servers.len();
        servers.retain(|known| known.config().name != name);
        servers.len() < before
    }

    /// The status of each, in the order of configuration.
    #[must_use]
    pub fn server_reports(&self) -> Vec<McpServerReport> {
        let names = self.set.servers_with_tool_names();
        let status = |(server, tools): (Arc<McpServer>, Vec<String>)| {
            let now = server.snapshot();
            let config = server.config();
            McpServerReport {
                name: config.name.clone(),
                status: now.status,
                error: now.error,
                description: now.description,
                scope: config.scope.clone(),
                tools,
            }
        };
        names.into_iter().map(status).collect()
    }

    /// Waits until no server is connecting any more, up to the limit.
    pub async fn wait_until_settled(&self, limit: Duration) {
        let waiting = async {
            for server in self.set.servers() {
                server.wait_until_settled().await;
            }
        };
        let _ = windlass_tool::running_time::timeout(limit, waiting).await;
    }

    /// Reports each server that is still starting after a while. Returns when each one is
    /// connected, has failed, or was reported.
    pub async fn report_slow_starts(&self, tell: impl Fn(String)) {
        for server in self.set.servers() {
            if let Some(line) = server.wait_until_slow().await {
                tell(line);
            }
        }
    }

    /// Connects all unconnected servers concurrently, and waits for the results.
    pub async fn connect_all(&self) {
        let mut connecting = tokio::task::JoinSet::new();
        for server in self.set.servers() {
            connecting.spawn(async move { server.connect().await.map(drop) });
        }
        // Failures appear in the status reports.
        while connecting.join_next().await.is_some() {}
    }

    /// Connects a server if it is not connected.
    ///
    /// # Errors
    ///
    /// There is no such server, or it cannot be connected.
    pub async fn connect(&self, name: &str) -> Result<(), McpFailure> {
        self.set.require_server(name)?.connect().await.map(drop)
    }

    /// Closes all servers and waits for their processes, up to a limit.
    pub async fn close(&self) {
        let servers = std::mem::take(&mut *self.set.lock());
        for server in &servers {
            server.end();
        }
        let ending = async {
            for server in &servers {
                server.wait_until_ended().await;
            }
        };
        let _ = tokio::time::timeout(CLOSE_MAX, ending).await;
    }

    /// Reconnects a server.
    ///
    /// # Errors
    ///
    /// There is no such server, or it cannot be connected.
    pub async fn reconnect(&self, name: &str) -> Result<(), McpFailure> {
        self.set.require_server(name)?.reconnect().await
    }

    /// Calls a tool for the client, outside of any conversation. There is no permission prompt.
    ///
    /// # Errors
    ///
    /// There is no such server, it cannot be reached, or it does not answer in time.
    pub async fn call_tool(
        &self,
        server: &str,
        tool: &str,
        arguments: Map<String, Value>,
        limit: Duration,
    ) -> Result<McpCallReply, McpFailure> {
        let connection = self.set.require_server(server)?.connect().await?;
        connection.call_tool(tool, arguments, &McpCallOptions::with_limit(limit)).await
    }

    /// Reads a resource for the client, outside of any conversation.
    ///
    /// # Errors
    ///
    /// There is no such server, it cannot be reached, or it does not answer in time.
    pub async fn read_resource(
        &self,
        server: &str,
        uri: &str,
    ) -> Result<Vec<McpContent>, McpFailure> {
        let server = self.set.require_server(server)?;
        server.connect().await?.read_resource(uri, server.call_limit()).await
    }

    /// Enables or disables a server.
    ///
    /// # Errors
    ///
    /// There is no such server.
    pub async fn set_enabled(&self, name: &str, is_on: bool) -> Result<(), McpFailure> {
        self.set.require_server(name)?.set_enabled(is_on).await;
        Ok(())
    }
}

impl std::fmt::Debug for McpServers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let servers = self.set.servers();
        f.debug_list().entries(servers.iter().map(|server| &server.config().name)).finish()
    }
}

impl McpServerSet {
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Arc<McpServer>>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn servers(&self) -> Vec<Arc<McpServer>> {
        self.lock().clone()
    }

    pub(crate) fn find_server(&self, name: &str) -> Option<Arc<McpServer>> {
        self.lock().iter().find(|server| server.config().name == name).cloned()
    }

    /// The names of all servers, for a message.
    pub(crate) fn describe_names(&self) -> String {
        let names: Vec<String> =
            self.servers().iter().map(|server| server.config().name.clone()).collect();
        match names.is_empty() {
            true => "There are none.".to_owned(),
            false => format!("There are: {}.", names.join(", ")),
        }
    }

    pub(crate) fn require_server(&self, name: &str) -> Result<Arc<McpServer>, McpFailure> {
        let missing = || McpFailure::Unreachable {
            reason: format!("there is no MCP server `{name}`. {}", self.describe_names()),
        };
        self.find_server(name).ok_or_else(missing)
    }

    fn servers_with_tool_names(&self) -> Vec<(Arc<McpServer>, Vec<String>)> {
        let mut taken = BTreeSet::new();
        let named = |server: Arc<McpServer>| {
            let tools = server.snapshot().tools;
            let real = tools.iter().map(|tool| tool.name.as_str());
            let names = tool_names::assign_tool_names(&server.config().name, real, &mut taken);
            (server, names)
        };
        self.servers().into_iter().map(named).collect()
    }

    fn build_tools_by_server(&self) -> Vec<(Arc<McpServer>, Vec<Arc<RemoteTool>>)> {
        let mut all = Vec::new();
        for (server, names) in self.servers_with_tool_names() {
            let now = server.snapshot();
            if now.status == McpServerStatus::Disabled {
                continue;
            }
            let build = |(name, facts): (String, &McpToolDescription)| {
                server.record_tool(&facts.name);
                let server = Arc::clone(&server);
                Arc::new(RemoteTool::from_description(&name, facts, server, self.caps))
            };
            let tools = names.into_iter().zip(now.tools.iter()).map(build).collect();
            all.push((server, tools));
        }
        all
    }

    /// The text about all servers that the model gets from the start: names, and instructions where
    /// known.
    fn describe_servers(&self) -> String {
        let servers = self.servers();
        let names: BTreeSet<&str> =
            servers.iter().map(|server| server.config().name.as_str()).collect();
        if names.is_empty() {
            return "MCP servers may offer more.".to_owned();
        }
        let names: Vec<&str> = names.into_iter().collect();
        let mut text = format!(
            "The MCP servers {} offer more; search for what is needed, or for `mcp__` and a server.",
            names.join(", ")
        );
        let tools = self.build_tools_by_server();
        let tools = tools.iter().flat_map(|(_, tools)| tools);
        let mut named = String::new();
        for tool in tools {
            if named.len() > TOOL_NAMES_BYTES_MAX {
                named.push_str(", …");
                break;
            }
            let separator = if named.is_empty() { "" } else { ", " };
            named.push_str(&format!("{separator}{}", tool.spec().name));
        }
        if !named.is_empty() {
            text.push_str(&format!(" Known tools: {named}."));
        }
        for note in servers.iter().filter_map(|server| self.instructions.take_note(server)) {
            text.push_str(&format!("\n{note}"));
        }
        text
    }
}

struct McpToolSource(Arc<McpServerSet>);

impl ToolSource for McpToolSource {
    fn describe(&self) -> String {
        self.0.search_hint.get_or_init(|| self.0.describe_servers()).clone()
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let remote = self.0.build_tools_by_server().into_iter().flat_map(|(_, tools)| tools);
        let remote = remote.map(|tool| tool as Arc<dyn Tool>);
        let lists = ListMcpResources::new(Weak::clone(&self.0.self_weak), self.0.caps);
        let reads = ReadMcpResource::new(Weak::clone(&self.0.self_weak), self.0.caps);
        let ours: [Arc<dyn Tool>; 2] = [Arc::new(lists), Arc::new(reads)];
        remote.chain(ours).collect()
    }

    fn find_tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let known = self.tools().into_iter().find(|tool| tool.spec().name.as_str() == name);
        known.or_else(|| {
            // A server that is still connecting may have the tool.
            let servers = self.0.servers();
            let server = servers.into_iter().find(|server| {
                let now = server.snapshot();
                now.tools.is_empty()
                    && now.status != McpServerStatus::Disabled
                    && name.starts_with(&tool_names::tool_name_prefix(&server.config().name))
            })?;
            Some(Arc::new(RemoteTool::from_name(name, server, self.0.caps)))
        })
    }

    fn notes_for(&self, names: &[&str]) -> Vec<String> {
        let is_meant = |server: &Arc<McpServer>| {
            let prefix = tool_names::tool_name_prefix(&server.config().name);
            names.iter().any(|name| name.starts_with(&prefix))
        };
        let servers = self.0.servers().into_iter().filter(is_meant);
        servers.filter_map(|server| self.0.instructions.take_note(&server)).collect()
    }

    fn wait_until_ready(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            let servers = McpServers { set: Arc::clone(&self.0) };
            servers.wait_until_settled(SEARCH_WAIT_MAX).await;
        })
    }
}
