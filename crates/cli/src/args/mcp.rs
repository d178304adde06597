//! The command line about MCP servers.

use clap::{Subcommand, ValueEnum};

use super::{PermissionArgs, SettingsArgs};

/// Which MCP servers a session has.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "MCP servers")]
pub(crate) struct McpConfigArgs {
    /// Additional MCP servers: JSON, or a file containing it.
    #[arg(long, value_name = "JSON|PATH", num_args = 1..)]
    pub(crate) mcp_config: Vec<String>,
    /// Use only the servers of --mcp-config.
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
    /// Add a server from its JSON entry.
    AddJson(McpAddJsonArgs),
    /// List servers and test each connection.
    List,
    /// Show one server and test its connection.
    Get {
        /// Its name.
        name: String,
    },
    /// Log in to a server over HTTP, in a browser.
    Login {
        /// Its name.
        name: String,
    },
    /// Log out of a server.
    Logout {
        /// Its name.
        name: String,
    },
    /// Serve our tools to another client over standard input and output.
    Serve(Box<McpServeArgs>),
    /// Remove a server.
    Remove {
        /// Its name.
        name: String,
        /// Only in this scope.
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
    /// Where to save it.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) scope: McpScopeArg,
    /// How to reach it.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) transport: McpTransportArg,
    /// An environment variable for it.
    #[arg(short, long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// A header for every request.
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
    /// Where to save it.
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
    /// You, in this project.
    #[default]
    Local,
    /// You, in all projects.
    User,
    /// Everyone, in the project's `.mcp.json`.
    Project,
}

/// How a server is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpTransportArg {
    /// A process.
    #[default]
    Stdio,
    /// HTTP.
    Http,
    /// The older HTTP+SSE.
    Sse,
}
