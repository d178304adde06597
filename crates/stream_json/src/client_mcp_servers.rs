//! MCP servers that live in the client: what we say to one is a question to the client, and what comes
//! back is its answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use windlass_driver::mcp::{
    InProcessServer, McpServerConfig, McpServerStatus, McpServerTransport, McpServers,
};

use super::client_requests::ClientChannel;
use super::frame::ClientControlRequest;
use windlass_assembly::options::RunOptions;

/// Where servers of the client are heard, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientServerInboxes(Arc<Mutex<HashMap<String, mpsc::Sender<Value>>>>);

impl ClientServerInboxes {
    /// A server says something by itself. Says whether anybody listens.
    pub(crate) fn deliver(&self, name: &str, message: Value) -> bool {
        let ears = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ears.get(name).is_some_and(|ear| ear.try_send(message).is_ok())
    }
}

/// A server in the client.
struct ClientMcpServer {
    name: String,
    client_channel: ClientChannel,
    inboxes: ClientServerInboxes,
}

impl InProcessServer for ClientMcpServer {
    fn open_channels(&self) -> (mpsc::Sender<Value>, mpsc::Receiver<Value>) {
        let (ours, mut said) = mpsc::channel::<Value>(MESSAGES_MAX);
        let (theirs, heard) = mpsc::channel(MESSAGES_MAX);
        let mut ears = self.inboxes.0.lock().unwrap_or_else(PoisonError::into_inner);
        ears.insert(self.name.clone(), theirs.clone());
        let (name, port) = (self.name.clone(), self.client_channel.clone());
        tokio::spawn(async move {
            while let Some(message) = said.recv().await {
                let asked = relay_message(name.clone(), port.clone(), message, theirs.clone());
                // One call must not wait for another.
                tokio::spawn(asked);
            }
        });
        (ours, heard)
    }
}

/// Carries one message to the client and its answer back. A notice has none.
async fn relay_message(
    server_name: String,
    port: ClientChannel,
    message: Value,
    answers: mpsc::Sender<Value>,
) {
    let id = message.get("id").cloned();
    let request = ClientControlRequest::McpMessage { server_name, message };
    // How long a call may take is decided by whoever calls.
    let said = port.ask(request, MESSAGE_TIMEOUT).await;
    let Some(id) = id else {
        return;
    };
    let answer = match said {
        Ok(mut said) => said.get_mut("mcp_response").map(Value::take).unwrap_or_else(|| {
            build_jsonrpc_error(&id, "the client's answer has no `mcp_response`")
        }),
        Err(why) => build_jsonrpc_error(&id, &why),
    };
    let _ = answers.send(answer).await;
}

fn build_jsonrpc_error(id: &Value, why: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32_000, "message": why } })
}

/// The servers that the client says it has: on the command line, or in what it wishes for.
pub(crate) fn list_client_server_names(args: &RunOptions, wished: &[String]) -> Vec<String> {
    let mut names = wished.to_vec();
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

/// Connects them.
pub(crate) fn connect_client_servers(
    servers: &McpServers,
    names: &[String],
    port: &ClientChannel,
    ears: &ClientServerInboxes,
) {
    for name in names {
        let (port, ears) = (port.clone(), ears.clone());
        let server = ClientMcpServer { name: name.clone(), client_channel: port, inboxes: ears };
        let mut order =
            McpServerConfig::new(name.clone(), McpServerTransport::InProcess(Arc::new(server)));
        order.is_always_loaded = true;
        servers.add(order);
    }
}

/// Waits until none of them is on its way any more, within a limit.
pub(crate) async fn await_connected(servers: McpServers, names: Vec<String>) {
    let is_pending = |servers: &McpServers| {
        let status = servers.server_reports();
        status.iter().any(|one| one.status == McpServerStatus::Pending && names.contains(&one.name))
    };
    let settling = async {
        while is_pending(&servers) {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    };
    let _ = tokio::time::timeout(CONNECT_TIMEOUT, settling).await;
}

/// Messages that may wait.
const MESSAGES_MAX: usize = 64;
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(60 * 60);
const POLL_INTERVAL: Duration = Duration::from_millis(5);
/// A client whose servers are not there by then goes without them.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
