//! Which MCP servers settings permit, wherever they are configured.

use serde_json::{Map, Value};
use windlass_permission::permission_layer::SettingsSource;

use crate::settings_layer::SettingsLayer;

/// How a server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpServerAddress<'a> {
    Command { program: &'a str, arguments: &'a [String] },
    Url(&'a str),
}

/// `deniedMcpServers` and `allowedMcpServers` of all layers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct McpServerPolicy {
    denied: Vec<Map<String, Value>>,
    /// Without a list, all are allowed.
    allowed: Option<Vec<Map<String, Value>>>,
}

impl McpServerPolicy {
    /// Every layer may deny. The administrator's list of what is allowed stands alone; without one, that of
    /// the user and the command line counts. A project's own list would allow its own servers.
    pub(crate) fn from_layers(layers: &[SettingsLayer]) -> Self {
        let list = |layer: &SettingsLayer, key: &str| -> Option<Vec<Map<String, Value>>> {
            let entries = layer.settings.get(key)?.as_array()?;
            Some(entries.iter().filter_map(Value::as_object).cloned().collect())
        };
        let denied = layers.iter().filter_map(|layer| list(layer, DENIED)).flatten().collect();
        let allowed_by = |is_counted: fn(SettingsSource) -> bool| {
            let counted = layers.iter().filter(|layer| is_counted(layer.source));
            let lists: Vec<_> = counted.filter_map(|layer| list(layer, ALLOWED)).collect();
            (!lists.is_empty()).then(|| lists.concat())
        };
        let of_administrator = allowed_by(|source| source == SettingsSource::Managed);
        let of_user =
            || allowed_by(|source| matches!(source, SettingsSource::User | SettingsSource::Flag));
        Self { denied, allowed: of_administrator.or_else(of_user) }
    }

    /// Why a server may not be used.
    #[must_use]
    pub fn find_refusal(&self, name: &str, address: McpServerAddress<'_>) -> Option<&'static str> {
        if self.denied.iter().any(|entry| names_server(entry, name, address)) {
            return Some("`deniedMcpServers` of the settings names it");
        }
        let allowed = self.allowed.as_ref()?;
        let has = |key: &str| allowed.iter().any(|entry| entry.contains_key(key));
        // Where commands or addresses are listed, a name alone does not stand for one of them.
        let key = match address {
            McpServerAddress::Command { .. } if has(COMMAND) => COMMAND,
            McpServerAddress::Url(_) if has(URL) => URL,
            McpServerAddress::Command { .. } | McpServerAddress::Url(_) => NAME,
        };
        let is_allowed = allowed.iter().any(|entry| names_by_key(entry, key, name, address));
        (!is_allowed).then_some("`allowedMcpServers` of the settings does not name it")
    }
}

fn names_server(entry: &Map<String, Value>, name: &str, address: McpServerAddress<'_>) -> bool {
    [NAME, COMMAND, URL].iter().any(|key| names_by_key(entry, key, name, address))
}

fn names_by_key(
    entry: &Map<String, Value>,
    key: &str,
    name: &str,
    address: McpServerAddress<'_>,
) -> bool {
    let text = |wanted: &str| entry.get(wanted).filter(|_| key == wanted).and_then(Value::as_str);
    let is_there = match address {
        McpServerAddress::Command { program, arguments } => {
            let line = std::iter::once(program).chain(arguments.iter().map(String::as_str));
            let words = entry.get(COMMAND).filter(|_| key == COMMAND).and_then(Value::as_array);
            words.is_some_and(|words| words.iter().map(Value::as_str).eq(line.map(Some)))
        }
        McpServerAddress::Url(url) => text(URL).is_some_and(|pattern| matches_url(pattern, url)),
    };
    is_there || text(NAME) == Some(name)
}

/// `*` stands for any text; in a host it ends where the host does.
fn matches_url(pattern: &str, url: &str) -> bool {
    let (pattern_host, pattern_path) = split_host(pattern);
    let (host, path) = split_host(url);
    matches_text(&pattern_host, &host)
        // A pattern for a host is one for everything there.
        && (pattern_path.is_empty() || matches_text(pattern_path, path))
}

/// Scheme and host, which have no case, and the rest with the character it begins with. What stands before
/// an `@` is no host.
fn split_host(url: &str) -> (String, &str) {
    let start = url.find("://").map_or(0, |place| place + 3);
    let (scheme, rest) = url.split_at_checked(start).unwrap_or(("", url));
    let end = rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len());
    let (host, path) = rest.split_at_checked(end).unwrap_or((rest, ""));
    let host = host.rsplit('@').next().unwrap_or_default();
    (format!("{scheme}{host}").to_ascii_lowercase(), path)
}

fn matches_text(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

const DENIED: &str = "deniedMcpServers";
const ALLOWED: &str = "allowedMcpServers";
const NAME: &str = "serverName";
const COMMAND: &str = "serverCommand";
const URL: &str = "serverUrl";

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entries(value: &Value) -> Vec<Map<String, Value>> {
        value.as_array().unwrap().iter().filter_map(Value::as_object).cloned().collect()
    }

    #[test]
    fn a_server_is_denied_by_its_name_its_command_or_its_address() {
        let policy = McpServerPolicy {
            denied: entries(&json!([
                {"serverName": "box"},
                {"serverCommand": ["npx", "-y", "bad"]},
                {"serverUrl": "https://*.example.org/*"},
                {"serverUrl": "http://whole.example"},
                {"serverUrl": 3},
                {},
            ])),
            allowed: None,
        };
        let run = |name: &str, line: &[&str]| {
            let arguments: Vec<String> = line[1..].iter().map(|one| (*one).to_owned()).collect();
            let address = McpServerAddress::Command { program: line[0], arguments: &arguments };
            policy.find_refusal(name, address).is_some()
        };
        assert!(run("box", &["sh"]) && run("x", &["npx", "-y", "bad"]));
        assert!(!run("boxes", &["npx", "-y", "bad", "more"]) && !run("x", &["npx", "-y"]));
        let visit = |url: &str| policy.find_refusal("x", McpServerAddress::Url(url)).is_some();
        assert!(visit("https://a.example.org/mcp") && visit("HTTPS://A.EXAMPLE.ORG/mcp"));
        assert!(visit("https://user@a.example.org/mcp") && visit("http://whole.example/any?x"));
        assert!(!visit("https://example.com/a.example.org/") && !visit("http://a.example.org/mcp"));
        assert!(policy.find_refusal("box", McpServerAddress::Url("https://x")).is_some());
    }

    #[test]
    fn where_commands_or_addresses_are_allowed_a_name_is_not_enough() {
        let allowing = |list: Value| McpServerPolicy {
            denied: entries(&json!([{"serverName": "never"}])),
            allowed: Some(entries(&list)),
        };
        let command = McpServerAddress::Command { program: "sh", arguments: &[] };
        let url = McpServerAddress::Url("https://evil.example/mcp.good.example/");
        let by_name = allowing(json!([{"serverName": "a"}, {"serverName": "never"}]));
        assert_eq!(by_name.find_refusal("a", command), None);
        assert_eq!(by_name.find_refusal("a", url), None);
        assert!(by_name.find_refusal("b", command).is_some());
        assert!(by_name.find_refusal("never", command).is_some(), "what is denied is not allowed");
        let by_place = allowing(json!([
            {"serverName": "a"}, {"serverCommand": ["sh"]}, {"serverUrl": "https://*.good.example/*"},
        ]));
        assert_eq!(by_place.find_refusal("b", command), None);
        let other = McpServerAddress::Command { program: "zsh", arguments: &[] };
        assert!(by_place.find_refusal("a", other).is_some());
        assert!(by_place.find_refusal("a", url).is_some());
        for lie in ["https://x.good.example@evil.example/", "https://evil.example?.good.example/"] {
            assert!(by_place.find_refusal("a", McpServerAddress::Url(lie)).is_some(), "{lie}");
        }
        assert!(
            allowing(json!([])).find_refusal("a", command).is_some(),
            "an empty list allows none"
        );
    }
}
