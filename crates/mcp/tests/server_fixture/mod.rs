//! Where the tests' servers run, and short ways to start and ask them.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test that cannot begin fails")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, json};
use tempfile::TempDir;
use windlass_mcp::connection::McpContent;
use windlass_mcp::{
    McpCallOptions, McpChannel, McpConnection, McpFailure, McpHost, ProtocolEra, StdioServerConfig,
};
use windlass_tool::ToolSessionContext;

pub(crate) const LONG: Duration = Duration::from_secs(240);

struct NoUser;

impl McpHost for NoUser {}

/// A folder, and what is shared in it.
pub(crate) struct ServerFixture {
    folder: TempDir,
    pub(crate) tool_context: ToolSessionContext,
}

impl ServerFixture {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let tool_context = ToolSessionContext::new(&path, path.join("spill"));
        Self { folder, tool_context }
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// The server that misbehaves on demand.
    pub(crate) fn order(&self, mode: &str) -> StdioServerConfig {
        StdioServerConfig { arguments: vec![mode.to_owned()], ..self.named(FAULT) }
    }

    pub(crate) fn named(&self, command: &str) -> StdioServerConfig {
        StdioServerConfig {
            command: command.to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: self.folder(),
        }
    }

    pub(crate) async fn connect(
        &self,
        order: &StdioServerConfig,
    ) -> Result<McpConnection, McpFailure> {
        self.connect_as(order, Arc::new(NoUser)).await
    }

    pub(crate) async fn connect_as(
        &self,
        order: &StdioServerConfig,
        host: Arc<dyn McpHost>,
    ) -> Result<McpConnection, McpFailure> {
        let channel = McpChannel::Process { config: order, tool_context: &self.tool_context };
        McpConnection::open("fault", channel, ProtocolEra::Handshake, host, LONG).await
    }
}

pub(crate) const FAULT: &str = env!("CARGO_BIN_EXE_windlass-mcp-fault");

/// Calls a tool that says text.
pub(crate) async fn text(
    connection: &McpConnection,
    tool: &str,
    text: &str,
) -> Result<String, McpFailure> {
    text_within(connection, tool, text, LONG).await
}

pub(crate) async fn text_within(
    connection: &McpConnection,
    tool: &str,
    text: &str,
    limit: Duration,
) -> Result<String, McpFailure> {
    let arguments = Map::from_iter([("text".to_owned(), json!(text))]);
    let reply = connection.call_tool(tool, arguments, &McpCallOptions::with_limit(limit)).await?;
    let parts = reply.parts.into_iter().filter_map(|part| match part {
        McpContent::Text(text) => Some(text),
        _ => None,
    });
    Ok(parts.collect())
}
