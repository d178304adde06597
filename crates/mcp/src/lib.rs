//! An MCP client that offers remote tools through our `Tool` trait.
//!
//! Reading order: [`connection`] (one server, in our own types), `transport` (how messages reach it),
//! [`server`] (when to connect and reconnect), `tool` (remote tools as ours), [`McpServers`] (all
//! servers of a session), [`tool_server`] (the other direction: our tools for other clients). The
//! official library is used inside `connection` and `transport` and never exposed, so that its
//! changes stay in there.

pub mod conformance;
pub mod connection;
mod connection_change;
pub mod elicitation_form;
mod elicitation_prompter;
mod failure;
mod login;
mod prompt_commands;
pub mod server;
pub mod server_config;
mod server_instructions;
mod servers;
mod spill;
mod tool;
mod tool_names;
pub mod tool_server;
mod transport;

pub use connection::{
    ElicitationFuture, ElicitationReply, ElicitationRequest, McpCallOptions, McpChannel,
    McpConnection, McpHost, ProtocolEra,
};
pub use connection_change::{McpConnectionChange, McpConnectionListener, McpConnectionState};
pub use elicitation_prompter::{
    ElicitationInterceptor, ElicitationPrompter, InterceptFuture, PrompterSlot,
};
pub use failure::McpFailure;
pub use login::{LoginSecretStore, LoginStore, OauthAccess, OauthClientIdentity, OauthLogin};
pub use prompt_commands::McpPromptCommand;
pub use server::{
    InProcessServer, McpServerConfig, McpServerContext, McpServerStatus, McpServerTransport,
    McpTimeouts, ServerListCache,
};
pub use servers::{McpServerReport, McpServers};
pub use tool_names::tool_name_prefix;
pub use transport::http::HttpServerConfig;
pub use transport::stdio::StdioServerConfig;
