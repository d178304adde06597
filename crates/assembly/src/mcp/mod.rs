//! Which MCP servers a session has: those kept in files and those of the command line, and their
//! timeouts. Settings have already left out the servers of a project that is not trusted.

mod browser;
pub mod browser_login;
mod elicitation;
mod elicitation_hooks;
mod keyring_store;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::mpsc;
use windlass_driver::mcp::server_config::{McpConfigLayer, resolve_server_configs};
use windlass_driver::mcp::{
    LoginStore, McpConnectionChange, McpConnectionListener, McpHost, McpServerConfig,
    McpServerContext, McpServerTransport, McpServers, McpTimeouts, PrompterSlot, ServerListCache,
};
use windlass_driver::{Session, ToolSessionContext};
use windlass_settings::{McpServerAddress, McpServerPolicy, SettingsSource, StoredMcpServers};

use crate::options::{McpOptions, RunOptions};
use crate::settings::SettingsLayers;
use windlass_host::command_error::CommandError;
use windlass_host::environment;
use windlass_host::environment::EnvLookup;
use windlass_host::regular_file::read_given_text;
use windlass_host::user_directories;
use windlass_provider::keyring::Keyring;

pub use elicitation::SessionElicitor;
use elicitation_hooks::ElicitationHooks;
use keyring_store::KeyringSecretStore;

/// Files of servers given on the command line are not longer.
const FILE_BYTES_MAX: u64 = 2 * 1024 * 1024;

#[derive(Debug, Default)]
pub struct McpServerConfigs {
    pub servers: Vec<McpServerConfig>,
    pub notes: Vec<String>,
}

pub fn load_server_configs(
    options: &McpOptions,
    stored: &StoredMcpServers,
    cwd: &Path,
    lookup: &impl EnvLookup,
) -> Result<McpServerConfigs, CommandError> {
    let mut layers: Vec<McpConfigLayer> = stored
        .layers
        .iter()
        .map(|one| McpConfigLayer {
            scope: scope_name(one.source).to_owned(),
            servers: one.value.clone(),
        })
        .collect();
    for given in &options.mcp_config {
        layers.push(McpConfigLayer {
            scope: "dynamic".to_owned(),
            servers: parse_mcp_config_flag(given, cwd)?,
        });
    }
    let variables = |name: &str| lookup(name).and_then(|value| value.into_string().ok());
    let (mut servers, mut notes) = resolve_server_configs(&layers, cwd, &variables);
    notes.extend(drop_refused_servers(&mut servers, &stored.policy));
    Ok(McpServerConfigs { servers, notes })
}

/// Leaves out what the settings do not permit. Returns a line for each.
pub fn drop_refused_servers(
    servers: &mut Vec<McpServerConfig>,
    policy: &McpServerPolicy,
) -> Vec<String> {
    let mut notes = Vec::new();
    servers.retain(|server| {
        let address = match &server.transport {
            McpServerTransport::Process(process) => McpServerAddress::Command {
                program: &process.command,
                arguments: &process.arguments,
            },
            McpServerTransport::Http(http) => McpServerAddress::Url(&http.url),
            // Of the client itself, or never started.
            McpServerTransport::InProcess(_) | McpServerTransport::Unavailable(_) => return true,
        };
        let refusal = policy.find_refusal(&server.name, address);
        let note = |why| format!("the MCP server `{}` is left out: {why}", server.name);
        notes.extend(refusal.map(note));
        refusal.is_none()
    });
    notes
}

fn scope_name(source: SettingsSource) -> &'static str {
    match source {
        SettingsSource::User => "user",
        SettingsSource::Project => "project",
        SettingsSource::Local => "local",
        SettingsSource::Flag => "dynamic",
        SettingsSource::Managed => "managed",
    }
}

fn parse_mcp_config_flag(given: &str, cwd: &Path) -> Result<Map<String, Value>, CommandError> {
    let (name, text) = match given.trim_start().starts_with('{') {
        true => ("--mcp-config".to_owned(), given.to_owned()),
        false => {
            let path = cwd.join(given);
            let text = read_given_text(&path, FILE_BYTES_MAX).map_err(|error| {
                CommandError::usage(format!(
                    "--mcp-config: {} cannot be read: {error}",
                    path.display()
                ))
            })?;
            (path.display().to_string(), text)
        }
    };
    let wrong = |why: String| {
        CommandError::usage(format!(
            "--mcp-config: {name}: {why}; write {{\"mcpServers\": {{\"name\": {{\"command\": …}}}}}}"
        ))
    };
    let mut value: Value = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    match value.get_mut("mcpServers").map(Value::take) {
        Some(Value::Object(servers)) => Ok(servers),
        Some(_) => Err(wrong("`mcpServers` is not an object".to_owned())),
        None => Err(wrong("there is no `mcpServers`".to_owned())),
    }
}

/// The timeouts, by the environment.
pub fn read_timeouts(lookup: &impl EnvLookup) -> Result<McpTimeouts, CommandError> {
    let usual = McpTimeouts::default();
    let time = |name: &str, usual: Duration| {
        Ok::<_, CommandError>(
            read_positive_number(lookup, name)?.map_or(usual, Duration::from_millis),
        )
    };
    Ok(McpTimeouts {
        connect: time("MCP_TIMEOUT", usual.connect)?,
        // An explicit limit also applies to servers that are installed first.
        install: time("MCP_TIMEOUT", usual.install)?,
        call: time("MCP_TOOL_TIMEOUT", usual.call)?,
        ..usual
    })
}

fn read_positive_number(lookup: &impl EnvLookup, name: &str) -> Result<Option<u64>, CommandError> {
    let Some(text) = environment::read_variable(lookup, name)? else { return Ok(None) };
    let number = text.parse::<u64>().ok().filter(|number| *number > 0);
    number
        .map(Some)
        .ok_or_else(|| CommandError::usage(format!("{name} is not a whole number over 0")))
}

pub(crate) struct StartedServers {
    pub(crate) servers: McpServers,
    /// The session's registry should offer their tools.
    pub(crate) is_needed: bool,
    pub(crate) notes: Vec<String>,
    pub(crate) connection_changes: mpsc::Receiver<McpConnectionChange>,
}

pub(crate) fn start_session_servers(
    options: &RunOptions,
    layers: &SettingsLayers,
    tool_context: &ToolSessionContext,
    lookup: &impl EnvLookup,
) -> Result<StartedServers, CommandError> {
    let mut stored = layers.loaded.mcp_servers.clone();
    if options.mcp.strict_mcp_config {
        stored.layers.clear();
    }
    let mut configured =
        load_server_configs(&options.mcp, &stored, &tool_context.files.cwd, lookup)?;
    let guard = layers.build_script_guard();
    for server in &mut configured.servers {
        if server.scope == scope_name(SettingsSource::Project) {
            server.command_line.guard = guard.clone();
        }
    }
    // A client may add servers later.
    let is_needed = !configured.servers.is_empty() || options.reads_stream_json();
    // In a run that prints one answer, no user can answer an elicitation; in an interactive session
    // one can.
    let prompter = match options.print.is_some() && !options.reads_stream_json() {
        true => PrompterSlot::none(),
        false => PrompterSlot::reserve(),
    };
    let (hooks, _) = layers.read_hooks();
    let prompter = match ElicitationHooks::for_session(hooks, tool_context) {
        Some(hooks) => prompter.with_interceptor(Arc::new(hooks)),
        None => prompter,
    };
    let (listener, connection_changes) = McpConnectionListener::channel();
    let servers = start_servers(configured.servers, tool_context, prompter, listener, lookup)?;
    Ok(StartedServers { servers, is_needed, notes: configured.notes, connection_changes })
}

/// Lets servers ask the user, and reports slow servers.
pub fn attach_to_session(servers: &McpServers, session: &Session) {
    servers.set_prompter(SessionElicitor::new(session.clone()));
    warn_of_slow_servers(servers, session);
}

/// Warns the user of servers that need long to start, for as long as they are being started.
pub fn warn_of_slow_servers(servers: &McpServers, session: &Session) {
    let servers = servers.clone();
    let session = session.clone();
    tokio::spawn(async move { servers.report_slow_starts(|line| session.warn(line)).await });
}

pub fn start_servers(
    configs: Vec<McpServerConfig>,
    tool_context: &ToolSessionContext,
    prompter: PrompterSlot,
    connection_listener: McpConnectionListener,
    lookup: &impl EnvLookup,
) -> Result<McpServers, CommandError> {
    let host = Arc::new(SessionRoots { roots: tool_context.files.working_directories() });
    let mut context =
        McpServerContext::new(tool_context.for_subagent(), read_timeouts(lookup)?, host);
    context.list_cache = user_directories::cache_directory(lookup)
        .map(|folder| ServerListCache::new(folder.join("mcp")));
    context.login_store = open_credential_store(lookup);
    context.prompter = prompter;
    context.connection_listener = connection_listener;
    let tokens = read_positive_number(lookup, "MAX_MCP_OUTPUT_TOKENS")?;
    let tokens = tokens.map(|tokens| usize::try_from(tokens).unwrap_or(usize::MAX));
    Ok(McpServers::start(configs, context, tokens))
}

/// The store for credentials: the key ring, or files if there is none.
pub(crate) fn open_credential_store(lookup: &impl EnvLookup) -> Option<LoginStore> {
    let token_store = user_directories::state_directory(lookup)
        .map(|folder| LoginStore::new(folder.join("mcp")))?;
    Some(match Keyring::detect(lookup) {
        Ok(ring) => token_store.with_secret_store(Arc::new(KeyringSecretStore(ring))),
        Err(_) => token_store,
    })
}

/// The working directories of a session, as servers see them.
struct SessionRoots {
    roots: Vec<PathBuf>,
}

impl McpHost for SessionRoots {
    fn roots(&self) -> Vec<PathBuf> {
        self.roots.clone()
    }
}
