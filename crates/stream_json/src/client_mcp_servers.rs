//! MCP servers inside the client: a message to one is a request to the client, and the response is the
//! server's answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use windlass_driver::mcp::{
    InProcessServer, McpServerConfig, McpServerStatus, McpServerTransport, McpServers,
};

use crate::client_requests::ClientChannel;
use crate::frame::ClientControlRequest;
use windlass_assembly::options::RunOptions;

/// Where messages of servers inside the client go, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientServerInboxes(Arc<Mutex<HashMap<String, mpsc::Sender<Value>>>>);

impl ClientServerInboxes {
    /// Delivers a message that a server sends by itself. Returns whether the server is there.
    pub(crate) fn deliver(&self, name: &str, message: Value) -> bool {
        let inboxes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inboxes.get(name).is_some_and(|inbox| inbox.try_send(message).is_ok())
    }
}

/// The MCP servers inside the client, and those it added later.
#[derive(Debug, Default)]
pub(crate) struct ClientServers {
    pub inboxes: ClientServerInboxes,
    /// Servers of the last `mcp_set_servers`.
    pub dynamic: Vec<String>,
}

impl ClientServers {
    pub(crate) fn connect(&self, servers: &McpServers, names: &[String], channel: &ClientChannel) {
        for name in names {
            let server = ClientMcpServer {
                name: name.clone(),
                client_channel: channel.clone(),
                inboxes: self.inboxes.clone(),
            };
            let transport = McpServerTransport::InProcess(Arc::new(server));
            let mut config = McpServerConfig::new(name.clone(), transport);
            config.is_always_loaded = true;
            servers.add(config);
        }
    }
}

struct ClientMcpServer {
    name: String,
    client_channel: ClientChannel,
    inboxes: ClientServerInboxes,
}

impl InProcessServer for ClientMcpServer {
    fn open_channels(&self) -> (mpsc::Sender<Value>, mpsc::Receiver<Value>) {
        let (to_server, mut outgoing) = mpsc::channel::<Value>(MESSAGES_MAX);
        let (inbox, from_server) = mpsc::channel(MESSAGES_MAX);
        let mut inboxes = self.inboxes.0.lock().unwrap_or_else(PoisonError::into_inner);
        inboxes.insert(self.name.clone(), inbox.clone());
        let name = self.name.clone();
        let channel = self.client_channel.clone();
        tokio::spawn(async move {
            while let Some(message) = outgoing.recv().await {
                // One call must not wait for another.
                tokio::spawn(relay_message(name.clone(), channel.clone(), message, inbox.clone()));
            }
        });
        (to_server, from_server)
    }
}

/// Forwards one message to the client and returns its answer. A notification has none.
async fn relay_message(
    server_name: String,
    channel: ClientChannel,
    message: Value,
    answers: mpsc::Sender<Value>,
) {
    let id = message.get("id").cloned();
    let request = ClientControlRequest::McpMessage { server_name, message };
    // How long a call may take is decided by the caller.
    let response = channel.ask(request, MESSAGE_TIMEOUT).await;
    let Some(id) = id else {
        return;
    };
    let answer = match response {
        Ok(mut response) => {
            response.get_mut("mcp_response").map(Value::take).unwrap_or_else(|| {
                build_jsonrpc_error(&id, "the client's answer has no `mcp_response`")
            })
        }
        Err(why) => build_jsonrpc_error(&id, &why),
    };
    let _ = answers.send(answer).await;
}

fn build_jsonrpc_error(id: &Value, why: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32_000, "message": why } })
}

/// The servers inside the client: of the command line, and of `initialize`.
pub(crate) fn list_client_server_names(args: &RunOptions, initialized: &[String]) -> Vec<String> {
    let mut names = initialized.to_vec();
    for given in &args.mcp.mcp_config {
        let value: Value = serde_json::from_str(given).unwrap_or_default();
        let servers = value.get("mcpServers").and_then(Value::as_object);
        let is_inside = |server: &Value| server.get("type").is_some_and(|kind| kind == "sdk");
        let inside = servers.into_iter().flatten().filter(|(_, server)| is_inside(server));
        names.extend(inside.map(|(name, _)| name.clone()));
    }
    names.sort();
    names.dedup();
    names
}

/// Waits until none of them is pending any more, within a limit.
pub(crate) async fn await_connected(servers: McpServers, names: Vec<String>) {
    let is_pending = |servers: &McpServers| {
        let status = servers.server_reports();
        status.iter().any(|one| one.status == McpServerStatus::Pending && names.contains(&one.name))
    };
    let settled = async {
        while is_pending(&servers) {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    let _ = tokio::time::timeout(CONNECT_TIMEOUT, settled).await;
}

const MESSAGES_MAX: usize = 64;
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(60 * 60);
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// A client whose servers are not there by then goes without them.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
