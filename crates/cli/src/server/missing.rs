//! No key: says how to set one, and what could be asked instead: other keys that are set, servers
//! that run on this machine.

use super::{is_moved, local, ring};
use crate::choice::Chosen;
use crate::config::Config;
use crate::config::provider::Provider;
use crate::environment::{self, Lookup};
use crate::keyring::Trouble;
use crate::refusal::Refusal;

/// The refusal.
pub(super) fn key(
    chosen: &Chosen,
    provider: &Provider,
    config: &Config,
    trouble: Option<&Trouble>,
    lookup: &impl Lookup,
) -> Refusal {
    let variable = provider.key_env.first().or(provider.token_env.first());
    let variable = variable.map_or("a variable of your choice", String::as_str);
    let or_token = match (provider.key_env.as_slice(), provider.token_env.as_slice()) {
        ([_, other, ..], _) | ([_], [other, ..]) => format!(" (or {other})"),
        _ => String::new(),
    };
    // A key that is kept for the usual address does not go to another.
    let place = match ring::origin(&chosen.provider, config, lookup) {
        Some(origin) if is_moved(provider, lookup) => format!(" for {origin}"),
        _ => String::new(),
    };
    let mut line = format!(
        "no API key for {}: set one with `export {variable}=...`{or_token}, or keep one{place} in the \
         key ring with `windlass key set {}`",
        chosen.full_name(),
        chosen.provider
    );
    // Where there is no key ring, nobody misses it.
    if let Some(trouble @ (Trouble::Locked | Trouble::Failed(_))) = trouble {
        line.push_str(&format!("; the key ring could not be asked: {trouble}"));
    }
    for offer in others(chosen, config, lookup) {
        line.push_str("; ");
        line.push_str(&offer);
    }
    // Somebody who has moved the provider knows where the server is.
    if !is_moved(provider, lookup) {
        for found in local::look(config, lookup) {
            line.push_str("; ");
            line.push_str(&found.offer());
        }
    }
    line.push_str("; or see the whole thing without a key: `windlass demo`");
    Refusal::failed(line).for_lack_of_key()
}

/// Keys of other providers that are set.
fn others(chosen: &Chosen, config: &Config, lookup: &impl Lookup) -> Vec<String> {
    let mut offers: Vec<String> = Vec::new();
    let mut told: Vec<&str> = Vec::new();
    for (name, provider) in config.providers.iter().filter(|(name, _)| **name != chosen.provider) {
        let keys = provider.token_env.iter().chain(&provider.key_env);
        let set = keys.map(String::as_str).find(|name| environment::is_set(lookup, name));
        if let (Some(variable), Some(model)) = (set, &provider.first_model)
            && !told.contains(&variable)
        {
            told.push(variable);
            offers.push(format!("{variable} is set: --model {name}/{model}"));
        }
    }
    offers
}
