//! The keys of all providers, for what must not store or send one although it asks no model.

use crate::api_key::{self, find_credential};
use crate::config::Config;
use windlass_driver::Credential;
use windlass_driver::tool_types::may_hold_token;
use windlass_host::command_error::CommandError;
use windlass_host::environment::{self, EnvLookup};

/// Those in the environment, in `config.toml` and in key files. Starts no program; what cannot be
/// read is left out.
pub fn list_known_keys(config: &Config, lookup: &impl EnvLookup) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for provider in config.providers.values() {
        for variable in provider.token_env.iter().chain(&provider.key_env) {
            keys.extend(environment::read_variable(lookup, variable).ok().flatten());
        }
        let mut headers = provider.headers.clone();
        if let Some(variable) = &provider.headers_env {
            headers.extend(environment::read_headers(lookup, variable).unwrap_or_default());
        }
        headers.retain(|(name, _)| may_hold_key(name));
        let values =
            headers.iter().map(|(_, value)| value.strip_prefix("Bearer ").unwrap_or(value));
        keys.extend(values.map(str::to_owned));
        if let Some(file) = &provider.key_file {
            let path = api_key::resolve_key_file(file, config, lookup);
            keys.extend(api_key::read_key_file(&path).ok());
        }
    }
    keys
}

/// Those and what key programs and the key ring give, as for a request. May wait for the user to
/// unlock something.
///
/// # Errors
///
/// A source that the user configured gives no key.
pub fn find_all_keys(
    config: &Config,
    lookup: &impl EnvLookup,
) -> Result<Vec<String>, CommandError> {
    let mut keys = list_known_keys(config, lookup);
    for (name, provider) in &config.providers {
        if let Ok(found) = find_credential(name, provider, config, lookup)? {
            match found.credential {
                Credential::Key(key) | Credential::Bearer(key) => keys.push(key),
                Credential::None => {}
            }
        }
    }
    Ok(keys)
}

/// May a header of this name contain a key?
fn may_hold_key(name: &str) -> bool {
    let name = name.replace('-', "_");
    may_hold_token(&name) || name.to_ascii_lowercase().contains("auth")
}
