//! What a command beside a server of ours finds in its environment, and what is put in place of
//! things that differ from machine to machine and from day to day.

use tokio::process::Command;
use windlass_rehearsal::cassette::ScrubOptions;
use windlass_vocabulary::Wire;

use crate::config::Config;
use crate::config::provider::Provider;
use crate::date;
use crate::environment::{self, Lookup};
use crate::server::key_variables;

/// Every provider is played: all addresses lead to the server, and no real key is in sight.
pub(super) fn play_all(command: &mut Command, config: &Config, url: &str) {
    for provider in config.providers.values() {
        lead(command, provider, url);
        for token in &provider.token_env {
            command.env_remove(token);
        }
        for key in &provider.key_env {
            command.env(key, STAND_IN_KEY);
        }
    }
}

/// One provider's address leads to the server; its key stays, because the server passes it on to
/// the provider, and only to that one.
pub(super) fn lead(command: &mut Command, provider: &Provider, url: &str) {
    for variable in &provider.base_url_env {
        command.env(variable, address(provider, url));
    }
}

/// What to set by hand.
pub(super) fn exports(provider: &Provider, url: &str) -> Vec<String> {
    let first = provider.base_url_env.first();
    first.map(|variable| format!("{variable}={}", address(provider, url))).into_iter().collect()
}

/// Clients of the OpenAI wires expect the version in the address.
fn address(provider: &Provider, url: &str) -> String {
    match provider.wire {
        Some(Wire::OpenaiChat | Wire::OpenaiResponses) => format!("{url}/v1"),
        Some(Wire::AnthropicMessages | Wire::Gemini) | None => url.to_owned(),
    }
}

/// What is taken out of a recording, and what a replay puts back: keys, where we stand, whose home
/// it is, and what day it is.
pub(super) fn scrub(config: &Config, lookup: &impl Lookup) -> ScrubOptions {
    let mut options = ScrubOptions::default();
    for variable in key_variables(config) {
        if let Ok(Some(secret)) = environment::text(lookup, variable) {
            options = options.secret(secret);
        }
    }
    // The narrower place first: a project mostly lies in somebody's home.
    if let Ok(cwd) = std::env::current_dir() {
        options = options.stand_in("cwd", cwd.to_string_lossy());
    }
    if let Some(home) = lookup("HOME").filter(|home| home.len() > 1) {
        options = options.home(home.to_string_lossy());
    }
    options.stand_in("today", date::today())
}

/// Stands where a key is expected and none is needed.
const STAND_IN_KEY: &str = "rehearsal";
