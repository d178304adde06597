//! From a chosen model to the server that has it: its address, what proves who asks, its limits.
//!
//! Keys are looked for here, in the environment, in the place the user's own file names and in the
//! key ring, and handed on as a credential that never shows itself. No error repeats a value. Every server gets
//! its own key and nobody else's.

mod key;
mod key_command;
mod limits;
pub(crate) mod local;
mod missing;
mod model_list;
pub(crate) mod ring;
pub(crate) mod source;

use std::collections::BTreeMap;
use std::path::Path;

use windlass_driver::Endpoint;
use windlass_vocabulary::Wire;

use crate::choice::Chosen;
use crate::config::Config;
use crate::config::provider::Provider;
use crate::environment::{self, Lookup};
use crate::keyring::{self, Trouble};
use crate::refusal::Refusal;
use key::Proof;

pub(crate) use key::variables as key_variables;
pub(crate) use model_list::model_list;

/// A model's server, and how to speak of it.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    /// For the session.
    pub(crate) endpoint: Endpoint,
    /// For people.
    pub(crate) place: Place,
}

/// A server in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The provider's name.
    pub(crate) provider: String,
    /// The address.
    pub(crate) base_url: String,
    /// What to look at when the key is refused.
    pub(crate) key_advice: String,
    /// What to look at when the address is wrong.
    pub(crate) address_advice: String,
}

/// Keys that were found, by provider: each place is asked once, however many models live there.
#[derive(Default)]
pub(crate) struct Proofs(BTreeMap<String, Result<Proof, Option<Trouble>>>);

impl Proofs {
    fn of(
        &mut self,
        name: &str,
        provider: &Provider,
        config: &Config,
        lookup: &impl Lookup,
    ) -> Result<Result<Proof, Option<Trouble>>, Refusal> {
        if let Some(known) = self.0.get(name) {
            return Ok(known.clone());
        }
        let found = key::find(name, provider, config, lookup)?;
        self.0.insert(name.to_owned(), found.clone());
        Ok(found)
    }
}

/// Providers that search the web for their models. Servers that only speak like them do not.
const SEARCHING: &[&str] = &["anthropic", "openai", "gemini"];

/// Finds a model's server. When there is no key, says what there is instead.
pub(crate) fn server(
    chosen: &Chosen,
    config: &Config,
    proofs: &mut Proofs,
    lookup: &impl Lookup,
) -> Result<Server, Refusal> {
    let provider = config.providers.get(&chosen.provider).cloned().unwrap_or_default();
    let wire = provider.wire.unwrap_or(Wire::AnthropicMessages);
    let (base_url, address_advice) = address(&provider, &chosen.provider, config, lookup)?;
    let base_url = without_version(&base_url, wire);
    let is_local = environment::local_place(&base_url).is_some();
    let found = proofs.of(&chosen.provider, &provider, config, lookup)?;
    let Proof { credential, advice, renewal } = match found {
        Ok(proof) => proof,
        Err(_) if is_local || provider.is_open() => Proof::none(&chosen.provider, &provider),
        Err(trouble) => {
            return Err(missing::key(chosen, &provider, config, trouble.as_ref(), lookup));
        }
    };
    let mut endpoint = Endpoint::new(wire, base_url.clone()).credential(credential);
    endpoint = endpoint.searching(SEARCHING.contains(&chosen.provider.as_str()));
    endpoint.headers = provider.headers.clone();
    if let Some(variable) = &provider.headers_env {
        endpoint.headers.extend(environment::headers(lookup, variable)?);
    }
    endpoint = endpoint.law(limits::law(wire, &provider, chosen.model()));
    if let Some(renewal) = renewal {
        endpoint = endpoint.renewed_by(move || renewal.key());
    }
    let place =
        Place { provider: chosen.provider.clone(), base_url, key_advice: advice, address_advice };
    Ok(Server { endpoint, place })
}

/// A provider's key in the key ring for this address, if it would be needed there.
pub(crate) fn kept_key(
    name: &str,
    base_url: &str,
    config: &Config,
    lookup: &impl Lookup,
) -> Option<String> {
    let provider = config.providers.get(name)?;
    if !ring::is_wanted(provider) || !source::named(provider, config, lookup).is_empty() {
        return None;
    }
    let taken = ring::key(name, &keyring::origin(base_url)?, config, lookup).ok()?;
    taken.map(|taken| taken.key)
}

/// A provider's address, as it is called.
pub(crate) fn base_url(
    name: &str,
    config: &Config,
    lookup: &impl Lookup,
) -> Result<String, Refusal> {
    let provider = config.providers.get(name).cloned().unwrap_or_default();
    let (url, _) = address(&provider, name, config, lookup)?;
    Ok(without_version(&url, provider.wire.unwrap_or(Wire::AnthropicMessages)))
}

/// Has the provider an address other than its usual one?
pub(crate) fn is_moved(provider: &Provider, lookup: &impl Lookup) -> bool {
    provider.is_base_url_users
        || provider.base_url_env.iter().any(|name| environment::is_set(lookup, name))
}

/// The address, and where it came from in words.
fn address(
    provider: &Provider,
    name: &str,
    config: &Config,
    lookup: &impl Lookup,
) -> Result<(String, String), Refusal> {
    for variable in &provider.base_url_env {
        if let Some(url) = environment::text(lookup, variable)? {
            let url = if variable.ends_with("_HOST") { with_scheme(&url) } else { url };
            return Ok((url, format!("check {variable}")));
        }
    }
    let url = provider.base_url.clone().unwrap_or_default();
    let file = config.path.as_deref().unwrap_or(Path::new("config.toml")).display();
    let variable = provider.base_url_env.first();
    let advice = match variable {
        _ if provider.is_base_url_users => format!("check base_url of [provider.{name}] in {file}"),
        Some(variable) => format!("check the network, or set {variable} to another address"),
        None => "check the network".to_owned(),
    };
    Ok((url, advice))
}

/// Some servers give their address as a host and a port.
fn with_scheme(host: &str) -> String {
    let url = if host.contains("://") { host.to_owned() } else { format!("http://{host}") };
    // The address to listen at, not one to call.
    url.replace("//0.0.0.0", "//127.0.0.1")
}

/// Addresses are often given with the version that our paths begin with.
pub(crate) fn without_version(base_url: &str, wire: Wire) -> String {
    let url = base_url.trim_end_matches('/');
    let version = match wire {
        Wire::AnthropicMessages | Wire::OpenaiChat | Wire::OpenaiResponses => "/v1",
        Wire::Gemini => "/v1beta",
    };
    url.strip_suffix(version).unwrap_or(url).trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_with_and_without_their_version() {
        let cases = [
            ("https://api.openai.com/v1/", Wire::OpenaiResponses, "https://api.openai.com"),
            ("https://openrouter.ai/api/v1", Wire::OpenaiChat, "https://openrouter.ai/api"),
            ("http://127.0.0.1:8080", Wire::OpenaiChat, "http://127.0.0.1:8080"),
            ("https://x.example/v1beta", Wire::Gemini, "https://x.example"),
            ("https://x.example/v1", Wire::Gemini, "https://x.example/v1"),
        ];
        for (given, wire, base) in cases {
            assert_eq!(without_version(given, wire), base);
        }
        assert_eq!(with_scheme("0.0.0.0:11434"), "http://127.0.0.1:11434");
        assert_eq!(with_scheme("https://gpu.example"), "https://gpu.example");
    }
}
