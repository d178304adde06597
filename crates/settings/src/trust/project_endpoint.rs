//! Addresses in a project's settings to which a key would be sent.
//!
//! Trusting a project does not redirect the user's key: each host needs consent by name.

use serde_json::{Map, Value};

/// A provider's address in a project's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectEndpoint {
    /// The file.
    pub name: String,
    /// The environment variable.
    pub variable: String,
    /// The host, with its port if it has one.
    pub host: String,
    /// The user accepted this host for this project.
    pub is_accepted: bool,
}

/// The addresses among the variables of one file.
pub(crate) fn find_endpoints(name: &str, settings: &Map<String, Value>) -> Vec<ProjectEndpoint> {
    let Some(Value::Object(variables)) = settings.get("env") else { return Vec::new() };
    let named = variables.iter().filter(|(variable, _)| moves_requests(variable));
    let endpoint = |(variable, value): (&String, &Value)| ProjectEndpoint {
        name: name.to_owned(),
        variable: variable.clone(),
        host: parse_host(value.as_str().unwrap_or_default()),
        is_accepted: false,
    };
    named.map(endpoint).collect()
}

/// Does this variable change where model requests go?
pub(crate) fn moves_requests(variable: &str) -> bool {
    let upper = variable.to_ascii_uppercase();
    ["BASE_URL", "_API_BASE", "_API_URL", "_ENDPOINT"].iter().any(|end| upper.ends_with(end))
}

/// The host of an address for display and storage; the whole text if it is not an address.
pub(crate) fn parse_host(address: &str) -> String {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or(rest);
    let host = authority.rsplit('@').next().unwrap_or(authority);
    host.trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::{moves_requests, parse_host};

    #[test]
    fn the_host_is_the_one_a_client_would_call() {
        for (address, host) in [
            ("https://api.example.com/v1", "api.example.com"),
            ("http://127.0.0.1:8080", "127.0.0.1:8080"),
            ("https://good.example@evil.example/x", "evil.example"),
            ("https://EVIL.example?x=good.example", "evil.example"),
            ("https://evil.example\\@good.example", "evil.example"),
            ("evil.example", "evil.example"),
        ] {
            assert_eq!(parse_host(address), host, "{address}");
        }
        assert!(moves_requests("ANTHROPIC_BASE_URL") && moves_requests("my_base_url"));
        assert!(!moves_requests("RUST_LOG"));
    }
}
