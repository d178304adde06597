//! `windlass mcp`: add, list, show and remove servers. The files are the ones people already have;
//! everything else in them stays as it is.

mod login;
mod serve;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};
use windlass_driver::Surroundings;
use windlass_driver::mcp::{HttpOrder, Seat, ServerOrder, ServerStatus, Servers, Way};
use windlass_settings::{ServerShelf, keep_server};

use crate::args::{
    AddArgs, AddJsonArgs, McpCommand, RemoteArgs, Scope, SettingsArgs, TransportArg,
};
use crate::compose;
use crate::environment::Lookup;
use crate::exit::Exit;
use crate::layers::Layers;
use crate::refusal::Refusal;
use crate::{folder, remote};

pub(crate) use login::{Going as Login, conform};

/// How long a list waits for servers that do not answer.
const TRY_MAX: Duration = Duration::from_secs(20);

/// Does it, prints what there is to say, and says how to exit.
pub(crate) async fn run(command: McpCommand, lookup: &impl Lookup) -> Result<Exit, Refusal> {
    match command {
        McpCommand::Serve(args) => serve::run(&args, lookup).await,
        other => Ok(crate::say(&told(other, lookup).await?)),
    }
}

async fn told(command: McpCommand, lookup: &impl Lookup) -> Result<String, Refusal> {
    let cwd = compose::working_directory()?;
    match command {
        McpCommand::Serve(_) => Ok(String::new()),
        McpCommand::Add(args) => add(&args, &cwd, lookup),
        McpCommand::AddJson(args) => add_json(&args, &cwd, lookup),
        McpCommand::List => list(None, &cwd, lookup).await,
        McpCommand::Get { name } => list(Some(name), &cwd, lookup).await,
        McpCommand::Login { name } => {
            let login = login::Going::begin(&name, &cwd, lookup).await?;
            eprintln!("Log in here: {}", login.address());
            login.finish().await
        }
        McpCommand::Logout { name } => login::log_out(&http(&name, &cwd, lookup)?, lookup),
        McpCommand::Remove { name, scope } => remove(&name, scope, &cwd, lookup),
    }
}

fn add(args: &AddArgs, cwd: &Path, lookup: &impl Lookup) -> Result<String, Refusal> {
    let pairs = |values: &[String], sign: char, what: &str| {
        let pair = |value: &String| {
            let (name, value) = value.split_once(sign).ok_or_else(|| {
                Refusal::usage(format!("`{value}` is no {what}; write NAME{sign}VALUE"))
            })?;
            Ok((name.trim().to_owned(), Value::from(value.trim())))
        };
        values.iter().map(pair).collect::<Result<Map<String, Value>, Refusal>>()
    };
    let env = pairs(&args.env, '=', "variable")?;
    let headers = pairs(&args.header, ':', "header")?;
    let mut entry = match args.transport {
        TransportArg::Stdio => {
            json!({"type": "stdio", "command": args.target, "args": args.arguments, "env": env})
        }
        TransportArg::Http => json!({"type": "http", "url": args.target}),
        TransportArg::Sse => json!({"type": "sse", "url": args.target}),
    };
    if let (false, Some(fields)) = (headers.is_empty(), entry.as_object_mut()) {
        fields.insert("headers".to_owned(), Value::Object(headers));
    }
    keep(&args.name, args.scope, &entry, cwd, lookup)
}

fn add_json(args: &AddJsonArgs, cwd: &Path, lookup: &impl Lookup) -> Result<String, Refusal> {
    let entry: Value = serde_json::from_str(&args.json)
        .map_err(|error| Refusal::usage(format!("the entry is not JSON: {error}")))?;
    keep(&args.name, args.scope, &entry, cwd, lookup)
}

fn keep(
    name: &str,
    scope: Scope,
    entry: &Value,
    cwd: &Path,
    lookup: &impl Lookup,
) -> Result<String, Refusal> {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(Refusal::usage(format!(
            "`{name}` cannot be a server's name; use letters, digits, - and _"
        )));
    }
    let config = json!({"mcpServers": {name: entry}}).to_string();
    let args = RemoteArgs { mcp_config: vec![config], strict_mcp_config: true };
    let checked = remote::configured(&args, &[], cwd, lookup)?;
    if checked.orders.is_empty() {
        return Err(Refusal::usage(checked.notes.join("; ")));
    }
    let place = Place::of(scope, cwd, lookup)?;
    let was_there = place.keep(name, Some(entry))?;
    let done = if was_there { "replaced" } else { "added" };
    let mut text = format!("{done} `{name}` in {}\n", place.path.display());
    for note in checked.notes {
        let _ = writeln!(text, "{note}");
    }
    if let Some(Way::None(reason)) = checked.orders.first().map(|order| &order.way) {
        let _ = writeln!(text, "it cannot be used: {reason}");
    }
    if scope == Scope::Project {
        text.push_str("whoever uses the project has to trust it first: windlass trust\n");
    }
    Ok(text)
}

fn remove(
    name: &str,
    scope: Option<Scope>,
    cwd: &Path,
    lookup: &impl Lookup,
) -> Result<String, Refusal> {
    let scopes = scope.map_or(vec![Scope::Local, Scope::Project, Scope::User], |scope| vec![scope]);
    for scope in scopes {
        let place = Place::of(scope, cwd, lookup)?;
        if place.path.exists() && place.keep(name, None)? {
            return Ok(format!("removed `{name}` from {}\n", place.path.display()));
        }
    }
    Err(Refusal::failed(format!("there is no MCP server `{name}`; see `windlass mcp list`")))
}

/// Where servers of one scope stand.
struct Place {
    path: PathBuf,
    /// Below this project, in a file for all.
    project: Option<String>,
}

impl Place {
    fn of(scope: Scope, cwd: &Path, lookup: &impl Lookup) -> Result<Self, Refusal> {
        let root = folder::project(cwd);
        let user = || {
            remote::user_file(lookup)
                .ok_or_else(|| Refusal::failed("there is no home directory; set HOME"))
        };
        Ok(match scope {
            Scope::Project => Self { path: root.join(".mcp.json"), project: None },
            Scope::User => Self { path: user()?, project: None },
            Scope::Local => {
                let project = Some(root.to_string_lossy().into_owned());
                Self { path: user()?, project }
            }
        })
    }

    fn keep(&self, name: &str, entry: Option<&Value>) -> Result<bool, Refusal> {
        let shelf = self.project.as_deref().map_or(ServerShelf::All, ServerShelf::Project);
        keep_server(&self.path, shelf, name, entry)
            .map_err(|error| Refusal::failed(error.to_string()))
    }
}

/// How a server over HTTP is reached.
fn http(name: &str, cwd: &Path, lookup: &impl Lookup) -> Result<HttpOrder, Refusal> {
    let layers = Layers::read(&SettingsArgs::default(), false, cwd, lookup)?;
    let kept = &layers.loaded.mcp_servers;
    let configured = remote::configured(&RemoteArgs::default(), kept, cwd, lookup)?;
    match configured.orders.into_iter().find(|order| order.name == name).map(|order| order.way) {
        Some(Way::Http(order)) => Ok(order),
        Some(_) => Err(Refusal::failed(format!("`{name}` is not reached over HTTP"))),
        None => {
            let line = format!("there is no MCP server `{name}`; see `windlass mcp list`");
            Err(Refusal::failed(line))
        }
    }
}

async fn list(wanted: Option<String>, cwd: &Path, lookup: &impl Lookup) -> Result<String, Refusal> {
    let layers = Layers::read(&SettingsArgs::default(), false, cwd, lookup)?;
    let kept = &layers.loaded.mcp_servers;
    let configured = remote::configured(&RemoteArgs::default(), kept, cwd, lookup)?;
    let mut text = String::new();
    for note in configured.notes.into_iter().chain(layers.loaded.trust.warning()) {
        let _ = writeln!(text, "{note}");
    }
    let mut orders = configured.orders;
    if let Some(wanted) = &wanted {
        orders.retain(|order| order.name == *wanted);
        if orders.is_empty() {
            let line = format!("there is no MCP server `{wanted}`; see `windlass mcp list`");
            return Err(Refusal::failed(line));
        }
    }
    if orders.is_empty() {
        text.push_str("there are no MCP servers; add one with `windlass mcp add`\n");
        return Ok(text);
    }
    let lines: Vec<(String, String)> =
        orders.iter().map(|order| (order.name.clone(), reached(order))).collect();
    let spill = std::env::temp_dir().join(format!("windlass-mcp-{}", std::process::id()));
    let surroundings = Surroundings::new(cwd, spill);
    let servers = remote::start(orders, &surroundings, Seat::none(), lookup)?;
    try_all(&servers).await;
    for (status, (name, way)) in servers.status().iter().zip(lines) {
        let _ = writeln!(text, "{name} ({}): {way}: {}", status.scope, condition(status));
        if wanted.is_some() {
            for tool in &status.tools {
                let _ = writeln!(text, "  {tool}");
            }
        }
    }
    servers.close().await;
    Ok(text)
}

/// Connects those that would wait for their first call.
async fn try_all(servers: &Servers) {
    let names: Vec<String> = servers.status().into_iter().map(|one| one.name).collect();
    let trying = async {
        for name in &names {
            // What comes of it stands in the list.
            let _ = servers.reach(name).await;
        }
    };
    let _ = tokio::time::timeout(TRY_MAX, trying).await;
}

/// How it is reached. No variables and no headers: they hold secrets.
fn reached(order: &ServerOrder) -> String {
    match &order.way {
        Way::Process(process) => {
            let mut words = vec![process.command.clone()];
            words.extend(process.arguments.iter().cloned());
            words.join(" ")
        }
        Way::Http(http) => http.url.clone(),
        Way::Inside(_) => "inside".to_owned(),
        Way::None(_) => "unusable".to_owned(),
    }
}

fn condition(status: &ServerStatus) -> String {
    match &status.error {
        Some(error) => format!("{}: {error}", status.status.word()),
        None => format!("{}, {} tools", status.status.word(), status.tools.len()),
    }
}
