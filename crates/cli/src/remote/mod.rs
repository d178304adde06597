//! Which MCP servers a session has: those kept in files, those of the command line, and how patient
//! we are with them. Nothing of a project that is not trusted is in what settings hand out.

mod asked;
mod doorman;
mod safe;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use windlass_driver::mcp::config::{Layer, orders};
use windlass_driver::mcp::{Common, Host, ListMemory, Patience, Seat, ServerOrder, Servers, Vault};
use windlass_driver::{Registry, Surroundings};
use windlass_settings::{Source, Sourced};

use crate::args::{RemoteArgs, RunArgs};
use crate::environment::{self, Lookup};
use crate::folder;
use crate::hooks;
use crate::keyring::Ring;
use crate::layers::Layers;
use crate::refusal::Refusal;

pub(crate) use asked::InFront;
use doorman::HookDoor;
use safe::RingSafe;

/// Files of servers given on the command line are not longer.
const FILE_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// The servers that are configured, and what is wrong with them.
#[derive(Debug, Default)]
pub(crate) struct Configured {
    pub(crate) orders: Vec<ServerOrder>,
    pub(crate) notes: Vec<String>,
}

/// Puts together what the files and the command line say.
pub(crate) fn configured(
    args: &RemoteArgs,
    kept: &[Sourced<Map<String, Value>>],
    cwd: &Path,
    lookup: &impl Lookup,
) -> Result<Configured, Refusal> {
    let mut layers: Vec<Layer> = kept
        .iter()
        .map(|one| Layer { scope: scope(one.source).to_owned(), servers: one.value.clone() })
        .collect();
    for given in &args.mcp_config {
        layers.push(Layer { scope: "dynamic".to_owned(), servers: given_servers(given, cwd)? });
    }
    let variables = |name: &str| lookup(name).and_then(|value| value.into_string().ok());
    let (orders, notes) = orders(&layers, cwd, &variables);
    Ok(Configured { orders, notes })
}

/// The word for where a server is kept.
fn scope(source: Source) -> &'static str {
    match source {
        Source::User => "user",
        Source::Project => "project",
        Source::Local => "local",
        Source::Flag => "dynamic",
        Source::Managed => "managed",
    }
}

fn given_servers(given: &str, cwd: &Path) -> Result<Map<String, Value>, Refusal> {
    let (name, text) = match given.trim_start().starts_with('{') {
        true => ("--mcp-config".to_owned(), given.to_owned()),
        false => {
            let path = cwd.join(given);
            let length = std::fs::metadata(&path).map_or(0, |found| found.len());
            let read = match length > FILE_BYTES_MAX {
                true => Err(std::io::Error::other("it is too long")),
                false => std::fs::read_to_string(&path),
            };
            let text = read.map_err(|error| {
                Refusal::usage(format!("--mcp-config: {} cannot be read: {error}", path.display()))
            })?;
            (path.display().to_string(), text)
        }
    };
    let wrong = |why: String| {
        Refusal::usage(format!(
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

/// The file in which the user's servers are kept.
pub(crate) fn user_file(lookup: &impl Lookup) -> Option<PathBuf> {
    match lookup("CLAUDE_CONFIG_DIR").filter(|value| !value.is_empty()) {
        Some(_) => folder::claude(lookup).map(|folder| folder.join(".claude.json")),
        None => folder::home(lookup).map(|home| home.join(".claude.json")),
    }
}

/// How patient we are, by the environment.
pub(crate) fn patience(lookup: &impl Lookup) -> Result<Patience, Refusal> {
    let usual = Patience::default();
    let time = |name: &str, usual: Duration| {
        Ok::<_, Refusal>(number(lookup, name)?.map_or(usual, Duration::from_millis))
    };
    Ok(Patience {
        connect: time("MCP_TIMEOUT", usual.connect)?,
        call: time("MCP_TOOL_TIMEOUT", usual.call)?,
        ..usual
    })
}

fn number(lookup: &impl Lookup, name: &str) -> Result<Option<u64>, Refusal> {
    let Some(text) = environment::text(lookup, name)? else { return Ok(None) };
    let number = text.parse::<u64>().ok().filter(|number| *number > 0);
    number.map(Some).ok_or_else(|| Refusal::usage(format!("{name} is not a whole number over 0")))
}

/// Sets the servers of a session going behind its registry. Adds what people should know.
pub(crate) fn session(
    args: &RunArgs,
    layers: &Layers,
    (surroundings, registry): (&Surroundings, &mut Registry),
    notes: &mut Vec<String>,
    lookup: &impl Lookup,
) -> Result<Servers, Refusal> {
    let kept: &[_] = match args.remote.strict_mcp_config {
        true => &[],
        false => &layers.loaded.mcp_servers,
    };
    let configured = configured(&args.remote, kept, &surroundings.cwd, lookup)?;
    notes.extend(configured.notes);
    // A program that drives us may yet bring more.
    let is_needed = !configured.orders.is_empty() || args.is_stream_in();
    // Whoever prints one answer has nobody in front; a program or a person that stays may be asked.
    let seat = match args.print.is_some() && !args.is_stream_in() {
        true => Seat::none(),
        false => Seat::kept(),
    };
    let (hooks, _) = hooks::configured(layers);
    let seat = match HookDoor::of(hooks, surroundings) {
        Some(door) => seat.with_doorman(Arc::new(door)),
        None => seat,
    };
    let servers = start(configured.orders, surroundings, seat, lookup)?;
    if is_needed {
        servers.attach(registry);
    }
    Ok(servers)
}

/// Sets servers going.
pub(crate) fn start(
    orders: Vec<ServerOrder>,
    surroundings: &Surroundings,
    seat: Seat,
    lookup: &impl Lookup,
) -> Result<Servers, Refusal> {
    let host = Arc::new(Session { roots: surroundings.directories() });
    let mut common = Common::new(surroundings.for_another(), patience(lookup)?, host);
    common.memory = folder::cache(lookup).map(|folder| ListMemory::new(folder.join("mcp")));
    common.vault = vault(lookup);
    common.seat = seat;
    let tokens = number(lookup, "MAX_MCP_OUTPUT_TOKENS")?;
    let tokens = tokens.map(|tokens| usize::try_from(tokens).unwrap_or(usize::MAX));
    Ok(Servers::start(orders, common, tokens))
}

/// Where logins are kept: in the key ring, or in files where there is none.
pub(crate) fn vault(lookup: &impl Lookup) -> Option<Vault> {
    let vault = folder::state(lookup).map(|folder| Vault::new(folder.join("mcp")))?;
    Some(match Ring::here(lookup) {
        Ok(ring) => vault.with_safe(Arc::new(RingSafe(ring))),
        Err(_) => vault,
    })
}

/// A session as servers see it: it works somewhere.
struct Session {
    roots: Vec<PathBuf>,
}

impl Host for Session {
    fn roots(&self) -> Vec<PathBuf> {
        self.roots.clone()
    }
}
