//! Finds a provider's key: in the environment, in the place the user configured, or in the key
//! ring.
//!
//! The environment comes first, because it is set for one run and costs nothing. A configured file
//! or program is explicit; the key ring is only a default, so it comes last, and may be missing.
//! Secrets are trimmed, because files and programs add a line end.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use windlass_driver::Credential;

use super::key_command;
use super::keyring_key::{self, FetchedKey, IsKeyPresent};
use crate::config::Config;
use crate::config::provider::{KeyProgram, ProviderConfig};
use crate::keyring::KeyringError;
use windlass_host::command_error::CommandError;
use windlass_host::environment;
use windlass_host::environment::EnvLookup;
use windlass_host::regular_file::{RegularFileError, open_regular};

#[derive(Clone)]
pub(super) struct ProviderCredential {
    pub(super) credential: Credential,
    pub(super) advice: String,
    /// Finds another key when this one is rejected.
    pub(super) refresh: Option<KeyRefresh>,
}

/// A source that may have another key by now.
#[derive(Clone)]
pub(super) enum KeyRefresh {
    Program(KeyProgram),
    Keyring(FetchedKey),
}

impl KeyRefresh {
    /// The current key. May wait for a program.
    pub(super) fn fetch_credential(&self) -> Option<Credential> {
        let key = match self {
            Self::Program(command) => key_command::run_key_command(command).ok(),
            Self::Keyring(fetched) => fetched.fetch_again(),
        };
        key.map(to_credential)
    }
}

impl ProviderCredential {
    /// For a server that is not known to need a key.
    pub(super) fn without_key(name: &str, provider: &ProviderConfig) -> Self {
        let advice = match provider.key_env.first() {
            Some(variable) => {
                format!("it needs a key: set {variable}, or run `windlass key set {name}`")
            }
            None => format!("it needs a key: add key_env to [provider.{name}] in your config.toml"),
        };
        Self { credential: Credential::None, advice, refresh: None }
    }
}

/// Finds the key of a provider. Without one, returns what was wrong with the key ring.
pub(super) fn find_credential(
    name: &str,
    provider: &ProviderConfig,
    config: &Config,
    lookup: &impl EnvLookup,
) -> Result<Result<ProviderCredential, Option<KeyringError>>, CommandError> {
    let found =
        |credential, advice| Ok(Ok(ProviderCredential { credential, advice, refresh: None }));
    for variable in &provider.token_env {
        if let Some(token) = environment::read_variable(lookup, variable)? {
            return found(Credential::Bearer(token), advise_variable(variable, "token", name));
        }
    }
    for variable in &provider.key_env {
        if let Some(key) = environment::read_variable(lookup, variable)? {
            return found(to_credential(key), advise_variable(variable, "key", name));
        }
    }
    let instead = advise_alternative(provider);
    if let Some(file) = &provider.key_file {
        let path = resolve_key_file(file, config, lookup);
        let advice = format!("put another key into {}, or {instead}", path.display());
        return found(to_credential(read_key_file(&path)?), advice);
    }
    if let Some(program) = provider.key_command.words.first() {
        let key = key_command::run_key_command(&provider.key_command).map_err(|problem| {
            CommandError::failure(format!(
                "the key_command of [provider.{name}], `{program}`, gives no key: {problem}; try it \
                 by hand, or {instead}"
            ))
        })?;
        return Ok(Ok(ProviderCredential {
            credential: to_credential(key),
            advice: format!(
                "check what `{program}` prints, the key_command of [provider.{name}], or {instead}"
            ),
            refresh: Some(KeyRefresh::Program(provider.key_command.clone())),
        }));
    }
    if !keyring_key::uses_keyring(provider) {
        return Ok(Err(None));
    }
    let Some(origin) = keyring_key::key_origin(name, config, lookup) else {
        return Ok(Err(None));
    };
    match keyring_key::fetch_keyring_key(name, &origin, config, lookup) {
        Ok(Some(fetched)) => Ok(Ok(ProviderCredential {
            credential: to_credential(fetched.key.clone()),
            advice: format!(
                "put another into the key ring with `windlass key set {name}`, or {instead}"
            ),
            refresh: Some(KeyRefresh::Keyring(fetched)),
        })),
        Ok(None) if provider.keyring == Some(true) => Err(CommandError::failure(format!(
            "the key ring, which [provider.{name}] names, has no key for {name} at {origin}; put one \
             in with `windlass key set {name}`, or {instead}"
        ))),
        Ok(None) => Ok(Err(None)),
        Err((error, IsKeyPresent(true))) => Err(CommandError::failure(format!(
            "the key for {name} is in the key ring and cannot be read: {error}; or {instead}"
        ))),
        Err((error, _)) if provider.keyring == Some(true) => Err(CommandError::failure(format!(
            "the key ring, which [provider.{name}] names, cannot be used: {error}; or {instead}"
        ))),
        Err((error, _)) => Ok(Err(Some(error))),
    }
}

/// The environment takes precedence, so the advice is to change or unset the variable.
fn advise_variable(variable: &str, what: &str, name: &str) -> String {
    format!("set {variable} to a valid {what}, or unset it and run `windlass key set {name}`")
}

fn advise_alternative(provider: &ProviderConfig) -> String {
    match provider.key_env.first() {
        Some(variable) => format!("set {variable}"),
        None => "add key_env to its table in your config.toml".to_owned(),
    }
}

fn to_credential(key: String) -> Credential {
    Credential::Key(key)
}

/// Every variable that may contain a provider's secret, to be hidden from tools.
pub fn secret_variables(config: &Config) -> impl Iterator<Item = &str> {
    config.providers.values().flat_map(|provider| {
        let secrets = provider.key_env.iter().chain(&provider.token_env);
        secrets.chain(&provider.headers_env).map(String::as_str)
    })
}

/// A relative path is relative to the folder of the user's file.
pub(super) fn resolve_key_file(file: &str, config: &Config, lookup: &impl EnvLookup) -> PathBuf {
    let home = || lookup("HOME").map(PathBuf::from).unwrap_or_default();
    match file.strip_prefix("~/") {
        Some(rest) => home().join(rest),
        None => {
            let folder = config.path.as_deref().and_then(Path::parent).unwrap_or(Path::new("/"));
            folder.join(file)
        }
    }
}

pub(super) fn read_key_file(path: &Path) -> Result<String, CommandError> {
    let refuse = |problem: &str, remedy: &str| {
        CommandError::failure(format!(
            "the key file {} cannot be used: {problem}; {remedy}",
            path.display()
        ))
    };
    let unreadable = |error: std::io::Error| refuse(&error.to_string(), "write the key into it");
    let file = open_regular(path).map_err(|error| match error {
        RegularFileError::Io(error) => unreadable(error),
        RegularFileError::NotRegular(_) | RegularFileError::TooLong(_) => {
            refuse("it is not a file", "name a file")
        }
    })?;
    let metadata = file.metadata().map_err(unreadable)?;
    if metadata.mode() & 0o077 != 0 {
        let remedy = format!("make it yours alone: chmod 600 {}", path.display());
        return Err(refuse("others may read or write it", &remedy));
    }
    let mut text = String::new();
    file.take(BYTES_MAX).read_to_string(&mut text).map_err(unreadable)?;
    match text.trim() {
        "" => Err(refuse("it is empty", "write the key into it")),
        key => Ok(key.to_owned()),
    }
}

const BYTES_MAX: u64 = 64 * 1024;
