//! The error for a missing key: how to set one, and alternatives such as other keys or local
//! servers.

use super::{keyring_key, local_server};
use crate::base_url::has_custom_base_url;
use crate::config::Config;
use crate::config::provider::ProviderConfig;
use crate::keyring::KeyringError;
use crate::model_choice::ChosenModel;
use windlass_host::command_error::{CommandError, CommandRemedy};
use windlass_host::environment;
use windlass_host::environment::EnvLookup;

pub(super) fn missing_key_error(
    chosen: &ChosenModel,
    provider: &ProviderConfig,
    config: &Config,
    error: Option<&KeyringError>,
    lookup: &impl EnvLookup,
) -> CommandError {
    let variable = provider.key_env.first().or(provider.token_env.first());
    let variable = variable.map_or("a variable of your choice", String::as_str);
    let or_token = match (provider.key_env.as_slice(), provider.token_env.as_slice()) {
        ([_, other, ..], _) | ([_], [other, ..]) => format!(" (or {other})"),
        _ => String::new(),
    };
    // A key stored for the default address is not sent to another one.
    let place = match keyring_key::key_origin(&chosen.provider, config, lookup) {
        Some(origin) if has_custom_base_url(provider, lookup) => format!(" for {origin}"),
        _ => String::new(),
    };
    let mut line = format!(
        "no API key for {}: set one with `export {variable}=...`{or_token}, or store one{place} \
         in the key ring with `windlass key set {}`",
        chosen.full_name(),
        chosen.provider
    );
    // A missing key ring is not worth reporting.
    if let Some(error @ (KeyringError::Locked | KeyringError::Failed(_))) = error {
        line.push_str(&format!("; the key ring could not be used: {error}"));
    }
    for suggestion in list_other_keys(chosen, config, lookup) {
        line.push_str("; ");
        line.push_str(&suggestion);
    }
    // A user who has changed the address knows where the server is.
    if !has_custom_base_url(provider, lookup) {
        for found in local_server::find_local_servers(config, lookup) {
            line.push_str("; ");
            line.push_str(&found.describe());
        }
    }
    line.push_str("; or try it without a key: `windlass demo`");
    CommandError::failure(line).with_remedy(CommandRemedy::EnterKey)
}

fn list_other_keys(chosen: &ChosenModel, config: &Config, lookup: &impl EnvLookup) -> Vec<String> {
    let mut offers: Vec<String> = Vec::new();
    let mut mentioned: Vec<&str> = Vec::new();
    for (name, provider) in config.providers.iter().filter(|(name, _)| **name != chosen.provider) {
        let keys = provider.token_env.iter().chain(&provider.key_env);
        let set = keys.map(String::as_str).find(|name| environment::is_set(lookup, name));
        if let (Some(variable), Some(model)) = (set, &provider.suggested_model)
            && !mentioned.contains(&variable)
        {
            mentioned.push(variable);
            offers.push(format!("{variable} is set: --model {name}/{model}"));
        }
    }
    offers
}
