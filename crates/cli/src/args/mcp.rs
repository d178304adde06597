//! The command line about MCP servers.

use std::ffi::OsString;

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
        /// Name of the server.
        name: String,
    },
    /// Log in to a server over HTTP, in a browser.
    Login {
        /// Name of the server.
        name: String,
    },
    /// Log out of a server.
    Logout {
        /// Name of the server.
        name: String,
    },
    /// Serve our tools to another client over standard input and output.
    Serve(Box<McpServeArgs>),
    /// Remove a server.
    Remove {
        /// Name of the server.
        name: String,
        /// Only in this scope.
        #[arg(short, long, value_enum)]
        scope: Option<McpScopeArg>,
    },
}

/// Serves our tools to other programs.
#[derive(Debug, clap::Args)]
pub(crate) struct McpServeArgs {
    #[command(flatten)]
    pub(crate) permission: PermissionArgs,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

/// A server as command-line arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct McpAddArgs {
    /// Where to save it.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) scope: McpScopeArg,
    /// How to reach it.
    #[arg(short, long, value_enum, default_value_t)]
    pub(crate) transport: McpTransportArg,
    /// Environment variables for it: one, or several in a row.
    #[arg(short, long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// A header for every request.
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
    /// The id under which we are registered with the server's login, over HTTP.
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
    /// The port on which the login comes back, over HTTP. [default: any that is free]
    #[arg(long, value_name = "PORT")]
    pub(crate) callback_port: Option<u16>,
    /// Name of the server.
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
    /// Name of the server.
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
    /// WebSocket.
    Ws,
}

/// Gives each variable a flag of its own in `mcp add --env A=1 B=2 NAME`, where others give one flag to a
/// row of them: a flag that takes a row would take the name too.
pub(crate) fn split_variables(
    arguments: impl Iterator<Item = OsString>,
) -> impl Iterator<Item = OsString> {
    let mut words: Vec<OsString> = Vec::new();
    let mut arguments = arguments.peekable();
    while let Some(word) = arguments.next() {
        let is_flag = words.len() >= 3
            && words.get(1).is_some_and(|word| word == "mcp")
            && words.get(2).is_some_and(|word| word == "add")
            && (word == "--env" || word == "-e");
        if word == "--" {
            words.push(word);
            break;
        }
        words.push(word);
        if is_flag {
            words.extend(arguments.next());
            while let Some(next) = arguments.next_if(is_variable) {
                words.extend(["--env".into(), next]);
            }
        }
    }
    words.into_iter().chain(arguments)
}

fn is_variable(word: &OsString) -> bool {
    let Some((name, _)) = word.to_str().and_then(|word| word.split_once('=')) else { return false };
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !name.is_empty() && name.chars().all(is_name)
}
