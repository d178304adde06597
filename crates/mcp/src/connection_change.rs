//! Tells a listener when a server is connected, cannot be connected, or is lost.

use std::time::Duration;

use tokio::sync::mpsc;

use crate::server::{McpServerConfig, McpServerTransport};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpConnectionChange {
    pub name: String,
    /// Where the server is configured.
    pub scope: String,
    /// `stdio`, `http` or `sdk`.
    pub transport: &'static str,
    pub state: McpConnectionState,
    /// How long the attempt to connect took.
    pub took: Option<Duration>,
    pub error: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpConnectionState {
    Connected,
    Failed,
    Disconnected,
}

/// Changes of all servers of a session. What a slow listener has no room for is lost.
#[derive(Clone, Debug, Default)]
pub struct McpConnectionListener(Option<mpsc::Sender<McpConnectionChange>>);

impl McpConnectionListener {
    #[must_use]
    pub fn channel() -> (Self, mpsc::Receiver<McpConnectionChange>) {
        let (sender, receiver) = mpsc::channel(CHANGES_MAX);
        (Self(Some(sender)), receiver)
    }

    pub(crate) fn tell(
        &self,
        config: &McpServerConfig,
        state: McpConnectionState,
        took: Option<Duration>,
        error: Option<String>,
    ) {
        let Some(sender) = &self.0 else { return };
        let transport = match config.transport {
            McpServerTransport::Process(_) => "stdio",
            McpServerTransport::Http(_) => "http",
            McpServerTransport::InProcess(_) => "sdk",
            McpServerTransport::Unavailable(_) => "unknown",
        };
        let name = config.name.clone();
        let scope = config.scope.clone();
        let change = McpConnectionChange { name, scope, transport, state, took, error };
        // Full, or nobody listens any more.
        let _ = sender.try_send(change);
    }
}

const CHANGES_MAX: usize = 256;
