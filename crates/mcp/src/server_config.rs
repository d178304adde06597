//! Resolves server configurations: which entry wins, variable expansion, and invalid entries. Reads
//! no files and starts nothing.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};
use windlass_tool::GuardedCommandLine;

use crate::server::{McpServerConfig, McpServerTransport};
use crate::transport::http::HttpServerConfig;
use crate::transport::stdio::StdioServerConfig;
use crate::transport::websocket::is_websocket;

/// The server entries of one configuration file.
#[derive(Clone, Debug)]
pub struct McpConfigLayer {
    /// The scope: `user`, `project`, `local` or `dynamic`.
    pub scope: String,
    pub servers: Map<String, Value>,
}

/// A server entry as written.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct McpServerEntry {
    #[serde(rename = "type")]
    kind: Option<String>,
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    url: Option<String>,
    headers: BTreeMap<String, String>,
    headers_helper: Option<String>,
    oauth: McpOauthEntry,
    timeout: Option<u64>,
    always_load: bool,
    disabled: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct McpOauthEntry {
    client_id: Option<String>,
    callback_port: Option<u16>,
}

pub type VariableLookup<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Merges layers, lowest precedence first. A whole entry replaces one of the same name. The result
/// is sorted by name; also returns problems.
#[must_use]
pub fn resolve_server_configs(
    layers: &[McpConfigLayer],
    directory: &Path,
    variables: &VariableLookup<'_>,
) -> (Vec<McpServerConfig>, Vec<String>) {
    let mut entries: BTreeMap<&str, (&str, &Value)> = BTreeMap::new();
    for layer in layers {
        for (name, entry) in &layer.servers {
            entries.insert(name, (&layer.scope, entry));
        }
    }
    let mut configs = Vec::new();
    let mut notes = Vec::new();
    for (name, (scope, entry)) in entries {
        match resolve_server_config(name, scope, entry, directory, variables, &mut notes) {
            Ok(config) => configs.push(config),
            Err(problem) => notes.push(format!("the MCP server `{name}` is left out: {problem}")),
        }
    }
    (configs, notes)
}

fn resolve_server_config(
    name: &str,
    scope: &str,
    entry: &Value,
    directory: &Path,
    variables: &VariableLookup<'_>,
    notes: &mut Vec<String>,
) -> Result<McpServerConfig, String> {
    let entry: McpServerEntry =
        McpServerEntry::deserialize(entry).map_err(|error| error.to_string())?;
    let written = entry.command.iter().chain(&entry.args).chain(&entry.headers_helper);
    let line = written.map(String::as_str).collect::<Vec<&str>>().join(" ");
    let command_line = GuardedCommandLine { line, ..GuardedCommandLine::default() };
    let mut unset = Vec::new();
    let mut full = |text: &str| expand_variables(text, variables, &mut unset);
    let command = entry.command.as_ref().filter(|command| !command.trim().is_empty());
    let way = match (entry.kind.as_deref(), command, &entry.url) {
        (None | Some("stdio"), Some(command), _) => {
            McpServerTransport::Process(StdioServerConfig {
                command: full(command),
                arguments: entry.args.iter().map(|argument| full(argument)).collect(),
                environment: entry
                    .env
                    .iter()
                    .map(|(name, value)| (name.clone(), full(value)))
                    .collect(),
                directory: directory.to_owned(),
            })
        }
        (None, None, None) | (Some("stdio"), None, _) => {
            return Err("it has no `command`".to_owned());
        }
        // An entry with an address but no type means the current HTTP transport.
        (
            kind @ (None | Some("http" | "streamable-http" | "sse" | "ws" | "websocket")),
            _,
            Some(url),
        ) => {
            let url = full(url);
            let url = match kind {
                Some("ws" | "websocket") => websocket_url(&url)?,
                _ => url,
            };
            McpServerTransport::Http(HttpServerConfig {
                url,
                is_legacy_sse: kind == Some("sse"),
                headers: entry
                    .headers
                    .iter()
                    .map(|(name, value)| (name.clone(), full(value)))
                    .collect(),
                headers_command: entry.headers_helper.clone(),
                client_id: entry.oauth.client_id.clone(),
                callback_port: entry.oauth.callback_port,
            })
        }
        (Some("sdk"), _, _) => {
            McpServerTransport::Unavailable("it runs inside the client".to_owned())
        }
        (Some("http" | "streamable-http" | "sse" | "ws" | "websocket"), _, None) => {
            return Err("it has no `url`".to_owned());
        }
        (Some(other), _, _) => {
            return Err(format!("its type `{other}` is not known; use stdio, http, sse or ws"));
        }
    };
    if !unset.is_empty() {
        unset.sort();
        unset.dedup();
        notes.push(format!("the MCP server `{name}`: {} is not set", unset.join(", ")));
    }
    Ok(McpServerConfig {
        name: name.to_owned(),
        transport: way,
        scope: scope.to_owned(),
        is_always_loaded: entry.always_load,
        is_disabled: entry.disabled,
        call_limit: entry.timeout.map(Duration::from_millis),
        command_line,
    })
}

/// Some entries have the address of the handshake.
fn websocket_url(url: &str) -> Result<String, String> {
    if is_websocket(url) {
        return Ok(url.to_owned());
    }
    match url.strip_prefix("http") {
        Some(rest) if rest.starts_with("://") || rest.starts_with("s://") => {
            Ok(format!("ws{rest}"))
        }
        Some(_) | None => Err("its `url` does not begin with ws:// or wss://".to_owned()),
    }
}

/// Replaces `${NAME}` and `${NAME:-default}`. An unset variable without a default is left as
/// written.
fn expand_variables(text: &str, variables: &VariableLookup<'_>, unset: &mut Vec<String>) -> String {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((inside, behind)) = after.split_once('}') else { break };
        whole.push_str(before);
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        let value = variables(name).filter(|value| !value.is_empty() || default.is_none());
        match value.as_deref().or(default) {
            Some(value) => whole.push_str(value),
            None => {
                unset.push(name.to_owned());
                whole.push_str(&format!("${{{inside}}}"));
            }
        }
        rest = behind;
    }
    whole.push_str(rest);
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn layer(scope: &str, servers: &Value) -> McpConfigLayer {
        McpConfigLayer { scope: scope.to_owned(), servers: servers.as_object().unwrap().clone() }
    }

    #[test]
    fn the_whole_entry_of_the_highest_layer_counts_and_variables_are_filled_in() {
        let layers = [
            layer(
                "user",
                &json!({"b": {"command": "old", "args": ["gone"]}, "z": {"command": "z"}}),
            ),
            layer(
                "project",
                &json!({
                    "b": {"command": "${TOOL}", "args": ["${NONE}", "${NONE:-x}", "a${TOOL}b$"],
                          "env": {"K": "${EMPTY:-d}"}, "timeout": 1500},
                    "a": {"type": "http", "url": "http://h/${TOOL}", "headers": {"X": "${TOOL}"}},
                    "old": {"type": "sse", "url": "http://h"},
                    "bare": {"url": "http://h"},
                    "socket": {"type": "ws", "url": "https://h/${TOOL}"},
                    "strange": {"type": "ws", "url": "ftp://h"},
                    "worse": {"type": "carrier-pigeon"},
                    "worst": 7,
                }),
            ),
        ];
        let variables = |name: &str| match name {
            "TOOL" => Some("hammer".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let (configs, notes) = resolve_server_configs(&layers, Path::new("/w"), &variables);
        let names: Vec<_> =
            configs.iter().map(|one| (one.name.as_str(), one.scope.as_str())).collect();
        let project = ["a", "b", "bare", "old", "socket"].map(|name| (name, "project"));
        assert_eq!(names[..5], project);
        assert_eq!(names[5..], [("z", "user")]);
        assert!(
            matches!(&configs[4].transport, McpServerTransport::Http(config) if config.url == "wss://h/hammer")
        );
        let McpServerTransport::Process(process) = &configs[1].transport else {
            panic!("{:?}", configs[1].transport)
        };
        assert_eq!(process.command, "hammer");
        assert_eq!(process.arguments, ["${NONE}", "x", "ahammerb$"]);
        assert_eq!(process.environment, [("K".to_owned(), "d".to_owned())]);
        assert_eq!(configs[1].call_limit, Some(Duration::from_millis(1500)));
        let McpServerTransport::Http(http) = &configs[0].transport else {
            panic!("{:?}", configs[0].transport)
        };
        assert_eq!((http.url.as_str(), http.headers[0].1.as_str()), ("http://h/hammer", "hammer"));
        assert!(
            matches!(&configs[3].transport, McpServerTransport::Http(config) if config.is_legacy_sse)
        );
        let joined = notes.join("\n");
        for words in [
            "`b`: NONE is not set",
            "`worse` is left out: its type `carrier-pigeon`",
            "`worst` is left out",
            "`strange` is left out: its `url` does not begin with ws:// or wss://",
        ] {
            assert!(joined.contains(words), "{words}: {joined}");
        }
    }
}
