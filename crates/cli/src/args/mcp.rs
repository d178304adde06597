//! The command line about MCP servers.

use clap::{Subcommand, ValueEnum};

use super::{PermissionArgs, SettingsArgs};

/// Which MCP servers a session has.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "MCP servers")]
pub(crate) struct McpConfigArgs {
    /// More MCP servers: JSON, or a file with it.
    #[arg(long, value_name = "JSON|PATH", num_args = 1..)]
    pub(crate) mcp_config: Vec<String>,
    /// Only the servers of --mcp-config.
    #[arg(long)]
    pub(crate) strict_mcp_config: bool,
}

/// `windlass mcp`.
#[derive(Debug, clap::Args)]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

/// What to do with servers.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Add a server: a name, then a command and its arguments, or an address.
    Add(McpAddArgs),
    /// Add a server as it would be written in a file.
    AddJson(McpAddJsonArgs),
    /// List the servers, and try each.
    List,
    /// Show one server, and try it.
    Get {
        /// Its name.
        name: String,
    },
    /// Log in to a server over HTTP, in a browser.
    Login {
        /// Its name.
        name: String,
    },
    /// Forget a login.
    Logout {
        /// Its name.
        name: String,
    },
    /// Offer our tools to another client, over standard input and output.
    Serve(Box<McpServeArgs>),
    /// Remove a server.
    Remove {
        /// Its name.
        name: String,
        /// Only where it is kept.
        #[arg(short, long, value_enum)]
        scope: Option<McpScopeArg>,
    },
}

/// Our tools for others.
#[derive(Debug, clap::Args)]
pub(crate) struct McpServeArgs {
    #[command(flatten)]
    pub(crate) permission: PermissionArgs,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

/// A server in words.
#[derive(Debug, clap::Args)]
pub(crate) struct McpAddArgs {
    /// Where to keep it.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) scope: McpScopeArg,
    /// How it is reached.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) transport: McpTransportArg,
    /// A variable of its environment.
    #[arg(short, long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// A header of every request.
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// Its name.
    pub(crate) name: String,
    /// The program, or the address.
    pub(crate) target: String,
    /// The program's arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
}

/// A server as it would be written.
#[derive(Debug, clap::Args)]
pub(crate) struct McpAddJsonArgs {
    /// Where to keep it.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) scope: McpScopeArg,
    /// Its name.
    pub(crate) name: String,
    /// The entry, as JSON.
    pub(crate) json: String,
}

/// Where a server is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpScopeArg {
    /// For you, in this project.
    #[default]
    Local,
    /// For you, everywhere.
    User,
    /// For everybody, in the project's `.mcp.json`.
    Project,
}

/// How a server is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpTransportArg {
    /// As a process.
    #[default]
    Stdio,
    /// Over HTTP.
    Http,
    /// Over the old HTTP+SSE.
    Sse,
}
