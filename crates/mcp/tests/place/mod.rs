//! Where the tests' servers run, and short ways to start and ask them.
#![allow(dead_code, reason = "each test file uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test that cannot begin fails")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, json};
use tempfile::TempDir;
use windlass_mcp::connection::ReplyPart;
use windlass_mcp::{CallTerms, Channel, Connection, Era, Failure, Host, ProcessOrder};
use windlass_tool::Surroundings;

pub(crate) const LONG: Duration = Duration::from_secs(60);

struct Nobody;

impl Host for Nobody {}

/// A folder, and what is shared in it.
pub(crate) struct Place {
    folder: TempDir,
    pub(crate) surroundings: Surroundings,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let surroundings = Surroundings::new(&path, path.join("spill"));
        Self { folder, surroundings }
    }

    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// The server that misbehaves on demand.
    pub(crate) fn order(&self, mode: &str) -> ProcessOrder {
        ProcessOrder { arguments: vec![mode.to_owned()], ..self.named(FAULT) }
    }

    pub(crate) fn named(&self, command: &str) -> ProcessOrder {
        ProcessOrder {
            command: command.to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: self.folder(),
        }
    }

    pub(crate) async fn connect(&self, order: &ProcessOrder) -> Result<Connection, Failure> {
        self.connect_as(order, Arc::new(Nobody)).await
    }

    pub(crate) async fn connect_as(
        &self,
        order: &ProcessOrder,
        host: Arc<dyn Host>,
    ) -> Result<Connection, Failure> {
        let channel = Channel::Process { order, surroundings: &self.surroundings };
        Connection::open("fault", channel, Era::Handshake, host, LONG).await
    }
}

pub(crate) const FAULT: &str = env!("CARGO_BIN_EXE_windlass-mcp-fault");

/// Calls a tool that says text.
pub(crate) async fn text(
    connection: &Connection,
    tool: &str,
    text: &str,
) -> Result<String, Failure> {
    text_within(connection, tool, text, LONG).await
}

pub(crate) async fn text_within(
    connection: &Connection,
    tool: &str,
    text: &str,
    limit: Duration,
) -> Result<String, Failure> {
    let arguments = Map::from_iter([("text".to_owned(), json!(text))]);
    let reply = connection.call(tool, arguments, &CallTerms::within(limit)).await?;
    let parts = reply.parts.into_iter().filter_map(|part| match part {
        ReplyPart::Text(text) => Some(text),
        _ => None,
    });
    Ok(parts.collect())
}
