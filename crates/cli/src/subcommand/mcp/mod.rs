//! `windlass mcp`: adds, lists, shows and removes servers in the same files as other agents; everything else
//! in those files stays as it is.

mod conformance;
mod serve;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use windlass_assembly::options::McpOptions;
use windlass_assembly::options::SettingsOptions;
use windlass_driver::ToolSessionContext;
use windlass_driver::mcp::{
    McpConnectionListener, McpServerConfig, McpServerReport, McpServerTransport, PrompterSlot,
};
use windlass_settings::{McpServerScope, SettingsProblem, write_mcp_server};

use crate::args::{McpAddArgs, McpAddJsonArgs, McpCommand, McpScopeArg, McpTransportArg};
use crate::words;
use windlass_assembly::mcp;
use windlass_assembly::settings::SettingsLayers;
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::display::human_format::format_counted;
use windlass_host::environment::EnvLookup;
use windlass_host::exit::Exit;
use windlass_host::user_directories;

pub(crate) use conformance::run_conformance;
use windlass_assembly::mcp::browser_login::{self, BrowserLogin, find_http_server};

pub(crate) async fn run(
    command: McpCommand,
    lookup: &impl EnvLookup,
) -> Result<Exit, CommandError> {
    let cwd = || windlass_assembly::directories::working_directory();
    let answer = match command {
        McpCommand::Serve(args) => return serve::run(&args, lookup).await,
        McpCommand::Add(args) => add_server(&args, &cwd()?, lookup)?,
        McpCommand::AddJson(args) => add_server_json(&args, &cwd()?, lookup)?,
        McpCommand::List => list_servers(None, &cwd()?, lookup).await?,
        McpCommand::Get { name } => list_servers(Some(name), &cwd()?, lookup).await?,
        McpCommand::Login { name } => {
            let login = BrowserLogin::begin(&name, &cwd()?, lookup).await?;
            eprintln!("{}", words::describe_login(&login.address()));
            login.finish().await?
        }
        McpCommand::Logout { name } => {
            browser_login::log_out(&find_http_server(&name, &cwd()?, lookup)?, lookup)?
        }
        McpCommand::Remove { name, scope } => remove_server(&name, scope, &cwd()?, lookup)?,
    };
    Ok(crate::print_answer(&answer))
}

fn add_server(
    args: &McpAddArgs,
    cwd: &Path,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    let parse_pairs = |values: &[String], separator: char, what: &str| {
        let parse_pair = |value: &String| {
            let (name, value) = value.split_once(separator).ok_or_else(|| {
                CommandError::usage(words::describe_bad_pair(value, &what, &separator))
            })?;
            Ok((name.trim().to_owned(), Value::from(value.trim())))
        };
        values.iter().map(parse_pair).collect::<Result<Map<String, Value>, CommandError>>()
    };
    let env = parse_pairs(&args.env, '=', "variable")?;
    let headers = parse_pairs(&args.header, ':', "header")?;
    let mut entry = match args.transport {
        McpTransportArg::Stdio => {
            json!({"type": "stdio", "command": args.target, "args": args.arguments, "env": env})
        }
        McpTransportArg::Http => json!({"type": "http", "url": args.target}),
        McpTransportArg::Sse => json!({"type": "sse", "url": args.target}),
        McpTransportArg::Ws => json!({"type": "ws", "url": args.target}),
    };
    let mut login = Map::new();
    login.extend(args.client_id.as_ref().map(|id| ("clientId".to_owned(), json!(id))));
    login.extend(args.callback_port.map(|port| ("callbackPort".to_owned(), json!(port))));
    if !login.is_empty() && matches!(args.transport, McpTransportArg::Stdio) {
        return Err(CommandError::usage(words::MCP_LOGIN_NEEDS_HTTP));
    }
    if let Some(fields) = entry.as_object_mut() {
        let given = [("headers", headers), ("oauth", login)];
        let given = given.into_iter().filter(|(_, values)| !values.is_empty());
        fields.extend(given.map(|(name, values)| (name.to_owned(), Value::Object(values))));
    }
    save_server(&args.name, args.scope, &entry, cwd, lookup)
}

fn add_server_json(
    args: &McpAddJsonArgs,
    cwd: &Path,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    let entry: Value = serde_json::from_str(&args.json)
        .map_err(|error| CommandError::usage(words::describe_bad_entry(&error)))?;
    save_server(&args.name, args.scope, &entry, cwd, lookup)
}

fn save_server(
    name: &str,
    scope: McpScopeArg,
    entry: &Value,
    cwd: &Path,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if name.is_empty() || !name.chars().all(is_allowed) {
        return Err(CommandError::usage(words::describe_bad_server_name(&name)));
    }
    let config = json!({"mcpServers": {name: entry}}).to_string();
    let args = McpOptions { mcp_config: vec![config], strict_mcp_config: true };
    let checked = mcp::load_server_configs(&args, &Default::default(), cwd, lookup)?;
    if checked.servers.is_empty() {
        return Err(CommandError::usage(checked.notes.join("; ")));
    }
    let file = McpConfigFile::for_scope(scope, cwd, lookup)?;
    let was_there = file.write_entry(name, Some(entry))?;
    let mut text = match was_there {
        true => words::describe_replaced_server(&name, &file.path.display()),
        false => words::describe_added_server(&name, &file.path.display()),
    };
    for note in checked.notes {
        let _ = writeln!(text, "{}", to_single_line(&note));
    }
    if let Some(McpServerTransport::Unavailable(reason)) =
        checked.servers.first().map(|server| &server.transport)
    {
        let _ = writeln!(text, "{}", words::describe_unusable_server(reason));
    }
    if scope == McpScopeArg::Project {
        text.push_str(words::MCP_NEEDS_TRUST);
    }
    Ok(text)
}

fn remove_server(
    name: &str,
    scope: Option<McpScopeArg>,
    cwd: &Path,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    let scopes = scope
        .map_or(vec![McpScopeArg::Local, McpScopeArg::Project, McpScopeArg::User], |scope| {
            vec![scope]
        });
    for scope in scopes {
        let file = McpConfigFile::for_scope(scope, cwd, lookup)?;
        if file.path.exists() && file.write_entry(name, None)? {
            return Ok(words::describe_removed_server(&name, &file.path.display()));
        }
    }
    Err(CommandError::failure(words::describe_unknown_server(&name)))
}

/// The file that holds the servers of one scope.
struct McpConfigFile {
    path: PathBuf,
    /// The entry of this project, in a file for all projects.
    project: Option<String>,
}

impl McpConfigFile {
    fn for_scope(
        scope: McpScopeArg,
        cwd: &Path,
        lookup: &impl EnvLookup,
    ) -> Result<Self, CommandError> {
        let root = windlass_settings::find_project_root(cwd);
        let user = || {
            user_directories::claude_json_file(lookup)
                .ok_or_else(|| CommandError::failure(words::NO_HOME))
        };
        Ok(match scope {
            McpScopeArg::Project => Self { path: root.join(".mcp.json"), project: None },
            McpScopeArg::User => Self { path: user()?, project: None },
            McpScopeArg::Local => {
                let project = Some(root.to_string_lossy().into_owned());
                Self { path: user()?, project }
            }
        })
    }

    fn write_entry(&self, name: &str, entry: Option<&Value>) -> Result<bool, CommandError> {
        let scope = self.project.as_deref().map_or(McpServerScope::All, McpServerScope::Project);
        write_mcp_server(&self.path, scope, name, entry)
            .map_err(|error| CommandError::failure(error.to_string()))
    }
}

async fn list_servers(
    name: Option<String>,
    cwd: &Path,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    let layers = SettingsLayers::load(&SettingsOptions::default(), false, cwd, lookup)?;
    let settings_servers = &layers.loaded.mcp_servers;
    let configured =
        mcp::load_server_configs(&McpOptions::default(), settings_servers, cwd, lookup)?;
    let mut text = String::new();
    for problem in layers.loaded.problems.iter().filter(|problem| is_about_server_file(problem)) {
        let _ = writeln!(text, "{}", to_single_line(&problem.to_string()));
    }
    for note in configured.notes.into_iter().chain(layers.loaded.trust.render_warning()) {
        let _ = writeln!(text, "{}", to_single_line(&note));
    }
    let mut configs = configured.servers;
    if let Some(name) = &name {
        configs.retain(|server| server.name == *name);
        if configs.is_empty() {
            return Err(CommandError::failure(words::describe_unknown_server(name)));
        }
    }
    if configs.is_empty() {
        text.push_str(words::NO_MCP_SERVERS);
        return Ok(text);
    }
    let lines: Vec<(String, String)> =
        configs.iter().map(|server| (server.name.clone(), describe_transport(server))).collect();
    let spill = std::env::temp_dir().join(format!("windlass-mcp-{}", std::process::id()));
    let tool_context = ToolSessionContext::new(cwd, spill);
    let prompter = PrompterSlot::none();
    let listener = McpConnectionListener::default();
    let servers = mcp::start_servers(configs, &tool_context, prompter, listener, lookup)?;
    let slow_starts = servers.report_slow_starts(|line| eprintln!("{}", to_single_line(&line)));
    tokio::join!(servers.connect_all(), slow_starts);
    for (report, (server, transport)) in servers.server_reports().iter().zip(lines) {
        // Names and errors are the words of projects and servers.
        let line = format!("{server} ({}): {transport}: {}", report.scope, describe_status(report));
        let _ = writeln!(text, "{}", to_single_line(&line));
        if name.is_some() {
            for tool in &report.tools {
                let _ = writeln!(text, "  {}", to_single_line(tool));
            }
        }
    }
    servers.close().await;
    Ok(text)
}

fn is_about_server_file(problem: &SettingsProblem) -> bool {
    let name = Path::new(&problem.name).file_name();
    name.is_some_and(|name| name == ".mcp.json" || name == ".claude.json")
}

/// Without variables and headers, which may hold secrets.
fn describe_transport(server: &McpServerConfig) -> String {
    match &server.transport {
        McpServerTransport::Process(process) => {
            let mut words = vec![process.command.clone()];
            words.extend(process.arguments.iter().cloned());
            words.join(" ")
        }
        McpServerTransport::Http(http) => http.url.clone(),
        McpServerTransport::InProcess(_) => "inside".to_owned(),
        McpServerTransport::Unavailable(_) => "unusable".to_owned(),
    }
}

fn describe_status(report: &McpServerReport) -> String {
    match &report.error {
        Some(error) => format!("{}: {error}", report.status.as_str()),
        None => {
            format!("{}, {}", report.status.as_str(), format_counted(report.tools.len(), "tool"))
        }
    }
}
