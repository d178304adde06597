//! The address of a provider: from a variable, the user's `config.toml`, or the default.

use std::path::Path;

use windlass_vocabulary::WireFormat;

use crate::config::Config;
use crate::config::provider::ProviderConfig;
use windlass_host::command_error::CommandError;
use windlass_host::environment;
use windlass_host::environment::EnvLookup;

pub(crate) struct ProviderUrl {
    /// Without the version prefix that our paths contain.
    pub(crate) base_url: String,
    /// What to check if the address does not respond.
    pub(crate) advice: String,
}

impl ProviderUrl {
    pub(crate) fn resolve(
        provider: &ProviderConfig,
        name: &str,
        config: &Config,
        lookup: &impl EnvLookup,
    ) -> Result<Self, CommandError> {
        let wire = provider.wire.unwrap_or(WireFormat::AnthropicMessages);
        for variable in &provider.base_url_env {
            if let Some(url) = environment::read_variable(lookup, variable)? {
                let url = if variable.ends_with("_HOST") { add_scheme(&url) } else { url };
                let advice = format!("check {variable}");
                return Ok(Self { base_url: strip_version(&url, wire), advice });
            }
        }
        let url = provider.base_url.as_deref().unwrap_or_default();
        let file = config.path.as_deref().unwrap_or(Path::new("config.toml")).display();
        let advice = match provider.base_url_env.first() {
            _ if provider.is_base_url_from_user => {
                format!("check base_url of [provider.{name}] in {file}")
            }
            Some(variable) => format!("check the network, or set {variable} to another address"),
            None => "check the network".to_owned(),
        };
        Ok(Self { base_url: strip_version(url, wire), advice })
    }
}

pub fn resolve_base_url(
    name: &str,
    config: &Config,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    let provider = config.providers.get(name).cloned().unwrap_or_default();
    ProviderUrl::resolve(&provider, name, config, lookup).map(|url| url.base_url)
}

/// Does the address differ from the default?
pub(crate) fn has_custom_base_url(provider: &ProviderConfig, lookup: &impl EnvLookup) -> bool {
    provider.is_base_url_from_user
        || provider.base_url_env.iter().any(|name| environment::is_set(lookup, name))
}

/// Some servers document their address as host and port.
fn add_scheme(host: &str) -> String {
    let url = if host.contains("://") { host.to_owned() } else { format!("http://{host}") };
    // This is an address to listen on, not to connect to.
    url.replace("//0.0.0.0", "//127.0.0.1")
}

/// Addresses often include the version prefix that our paths contain.
pub fn strip_version(base_url: &str, wire: WireFormat) -> String {
    let url = base_url.trim_end_matches('/');
    let version = match wire {
        WireFormat::AnthropicMessages | WireFormat::OpenaiChat | WireFormat::OpenaiResponses => {
            "/v1"
        }
        WireFormat::Gemini => "/v1beta",
    };
    url.strip_suffix(version).unwrap_or(url).trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_accepted_with_and_without_a_version() {
        let cases = [
            ("https://api.openai.com/v1/", WireFormat::OpenaiResponses, "https://api.openai.com"),
            ("https://openrouter.ai/api/v1", WireFormat::OpenaiChat, "https://openrouter.ai/api"),
            ("http://127.0.0.1:8080", WireFormat::OpenaiChat, "http://127.0.0.1:8080"),
            ("https://x.example/v1beta", WireFormat::Gemini, "https://x.example"),
            ("https://x.example/v1", WireFormat::Gemini, "https://x.example/v1"),
        ];
        for (given, wire, base) in cases {
            assert_eq!(strip_version(given, wire), base);
        }
        assert_eq!(add_scheme("0.0.0.0:11434"), "http://127.0.0.1:11434");
        assert_eq!(add_scheme("https://gpu.example"), "https://gpu.example");
    }
}
