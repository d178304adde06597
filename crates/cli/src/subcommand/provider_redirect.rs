//! What a command beside a server of ours finds in its environment, and what is put in place of
//! things that differ from machine to machine and from day to day.

use tokio::process::Command;
use windlass_rehearsal::cassette::ScrubOptions;
use windlass_vocabulary::WireFormat;

use windlass_assembly::date;
use windlass_host::environment;
use windlass_host::environment::EnvLookup;
use windlass_provider::api_key::secret_variables;
use windlass_provider::config::Config;
use windlass_provider::config::provider::ProviderConfig;

/// Every provider is played: all addresses lead to the server, and no real key is in sight.
pub(super) fn redirect_all_providers(command: &mut Command, config: &Config, url: &str) {
    for provider in config.providers.values() {
        redirect_provider(command, provider, url);
        for token in &provider.token_env {
            command.env_remove(token);
        }
        for key in &provider.key_env {
            command.env(key, PLACEHOLDER_KEY);
        }
    }
}

/// One provider's address leads to the server; its key stays, because the server passes it on to
/// the provider, and only to that one.
pub(super) fn redirect_provider(command: &mut Command, provider: &ProviderConfig, url: &str) {
    for variable in &provider.base_url_env {
        command.env(variable, build_base_url(provider, url));
    }
}

/// What to set by hand.
pub(super) fn build_exports(provider: &ProviderConfig, url: &str) -> Vec<String> {
    let first = provider.base_url_env.first();
    first
        .map(|variable| format!("{variable}={}", build_base_url(provider, url)))
        .into_iter()
        .collect()
}

/// Clients of the OpenAI wires expect the version in the address.
fn build_base_url(provider: &ProviderConfig, url: &str) -> String {
    match provider.wire {
        Some(WireFormat::OpenaiChat | WireFormat::OpenaiResponses) => format!("{url}/v1"),
        Some(WireFormat::AnthropicMessages | WireFormat::Gemini) | None => url.to_owned(),
    }
}

/// What is taken out of a recording, and what a replay puts back: keys, where we stand, whose home
/// it is, and what day it is.
pub(super) fn build_scrub_options(config: &Config, lookup: &impl EnvLookup) -> ScrubOptions {
    let mut options = ScrubOptions::default();
    for variable in secret_variables(config) {
        if let Ok(Some(secret)) = environment::read_variable(lookup, variable) {
            options = options.with_secret(secret);
        }
    }
    // The narrower place first: a project mostly lies in somebody's home.
    if let Ok(cwd) = std::env::current_dir() {
        options = options.with_stand_in("cwd", cwd.to_string_lossy());
    }
    if let Some(home) = lookup("HOME").filter(|home| home.len() > 1) {
        options = options.with_home(home.to_string_lossy());
    }
    options.with_stand_in("today", date::today())
}

/// Stands where a key is expected and none is needed.
const PLACEHOLDER_KEY: &str = "rehearsal";
