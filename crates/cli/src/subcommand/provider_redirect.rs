//! The environment that leads a child command to our server, and the placeholders for what differs between
//! machines and days.

use tokio::process::Command;
use windlass_rehearsal::cassette::ScrubOptions;
use windlass_vocabulary::WireFormat;

use windlass_assembly::date;
use windlass_host::environment;
use windlass_host::environment::EnvLookup;
use windlass_provider::api_key::secret_variables;
use windlass_provider::config::Config;
use windlass_provider::config::provider::ProviderConfig;

/// Points every provider to the server, with placeholders for all keys.
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

/// Points one provider to the server. Its key stays, because the server forwards it to that provider.
pub(super) fn redirect_provider(command: &mut Command, provider: &ProviderConfig, url: &str) {
    for variable in &provider.base_url_env {
        command.env(variable, build_base_url(provider, url));
    }
}

/// The variables for a user who starts the command by hand.
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

/// What a recording replaces and a replay restores: keys, the working directory, the home directory and the
/// date.
pub(super) fn build_scrub_options(config: &Config, lookup: &impl EnvLookup) -> ScrubOptions {
    let mut options = ScrubOptions::default();
    for variable in secret_variables(config) {
        if let Ok(Some(secret)) = environment::read_variable(lookup, variable) {
            options = options.with_secret(secret);
        }
    }
    // The longer path first, because the project is usually below the home directory.
    if let Ok(cwd) = std::env::current_dir() {
        options = options.with_stand_in("cwd", cwd.to_string_lossy());
    }
    if let Some(home) = lookup("HOME").filter(|home| home.len() > 1) {
        options = options.with_home(home.to_string_lossy());
    }
    options.with_stand_in("today", date::today())
}

const PLACEHOLDER_KEY: &str = "rehearsal";
