//! Where a key comes from: the environment, the place that the user's file names, the key ring.
//!
//! The environment goes first, because it is set for one run, and costs nothing. A file or a program
//! that is named for one provider is meant; the key ring is looked at unasked, so it comes last, and
//! not to find it is no news. Secrets are trimmed: files and programs leave a line end behind.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use windlass_driver::Credential;

use super::key_command;
use super::ring::{self, IsThere, Taken};
use crate::config::Config;
use crate::config::provider::Provider;
use crate::environment::{self, Lookup};
use crate::keyring::Trouble;
use crate::refusal::Refusal;

/// A credential, and what to look at when it is refused.
#[derive(Clone)]
pub(super) struct Proof {
    pub(super) credential: Credential,
    pub(super) advice: String,
    /// Whom to ask again when the key is no longer good.
    pub(super) renewal: Option<Renewal>,
}

/// Where there may be another key by now.
#[derive(Clone)]
pub(super) enum Renewal {
    Program(Vec<String>),
    Ring(Taken),
}

impl Renewal {
    /// The key that is there now. May wait for a program.
    pub(super) fn key(&self) -> Option<Credential> {
        let key = match self {
            Self::Program(command) => key_command::run(command).ok(),
            Self::Ring(taken) => taken.again(),
        };
        key.map(credential)
    }
}

impl Proof {
    /// For a server that asks for none, as far as is known.
    pub(super) fn none(name: &str, provider: &Provider) -> Self {
        let advice = match provider.key_env.first() {
            Some(variable) => {
                format!("it wants a key: set {variable}, or run `windlass key set {name}`")
            }
            None => format!("it wants a key: add key_env to [provider.{name}] in your config.toml"),
        };
        Self { credential: Credential::None, advice, renewal: None }
    }
}

/// Finds the key of a provider. Without one, says what was wrong with the key ring.
pub(super) fn find(
    name: &str,
    provider: &Provider,
    config: &Config,
    lookup: &impl Lookup,
) -> Result<Result<Proof, Option<Trouble>>, Refusal> {
    let found = |credential, advice| Ok(Ok(Proof { credential, advice, renewal: None }));
    for variable in &provider.token_env {
        if let Some(token) = environment::text(lookup, variable)? {
            return found(Credential::Bearer(token), in_variable(variable, "token", name));
        }
    }
    for variable in &provider.key_env {
        if let Some(key) = environment::text(lookup, variable)? {
            return found(credential(key), in_variable(variable, "key", name));
        }
    }
    let instead = instead(provider);
    if let Some(file) = &provider.key_file {
        let path = place(file, config, lookup);
        let advice = format!("put another key into {}, or {instead}", path.display());
        return found(credential(from_file(&path)?), advice);
    }
    if let Some(program) = provider.key_command.first() {
        let key = key_command::run(&provider.key_command).map_err(|problem| {
            Refusal::failed(format!(
                "the key_command of [provider.{name}], `{program}`, gives no key: {problem}; try it \
                 by hand, or {instead}"
            ))
        })?;
        return Ok(Ok(Proof {
            credential: credential(key),
            advice: format!(
                "check what `{program}` prints, the key_command of [provider.{name}], or {instead}"
            ),
            renewal: Some(Renewal::Program(provider.key_command.clone())),
        }));
    }
    if !ring::is_wanted(provider) {
        return Ok(Err(None));
    }
    let Some(origin) = ring::origin(name, config, lookup) else {
        return Ok(Err(None));
    };
    match ring::key(name, &origin, config, lookup) {
        Ok(Some(taken)) => Ok(Ok(Proof {
            credential: credential(taken.key.clone()),
            advice: format!(
                "put another into the key ring with `windlass key set {name}`, or {instead}"
            ),
            renewal: Some(Renewal::Ring(taken)),
        })),
        Ok(None) if provider.keyring == Some(true) => Err(Refusal::failed(format!(
            "the key ring, which [provider.{name}] names, has no key for {name} at {origin}; put one \
             in with `windlass key set {name}`, or {instead}"
        ))),
        Ok(None) => Ok(Err(None)),
        Err((trouble, IsThere(true))) => Err(Refusal::failed(format!(
            "the key for {name} is in the key ring, which does not give it: {trouble}; or {instead}"
        ))),
        Err((trouble, _)) if provider.keyring == Some(true) => Err(Refusal::failed(format!(
            "the key ring, which [provider.{name}] names, cannot be asked: {trouble}; or {instead}"
        ))),
        Err((trouble, _)) => Ok(Err(Some(trouble))),
    }
}

/// The environment goes before everything, so another key must go there, or it must make room.
fn in_variable(variable: &str, what: &str, name: &str) -> String {
    format!(
        "set {variable} to a {what} that is good, or unset it and run `windlass key set {name}`"
    )
}

/// What always works.
fn instead(provider: &Provider) -> String {
    match provider.key_env.first() {
        Some(variable) => format!("set {variable}"),
        None => "add key_env to its table in your config.toml".to_owned(),
    }
}

/// A key of the provider's own kind.
fn credential(key: String) -> Credential {
    Credential::Key(key)
}

/// Every variable that holds a secret of some provider: never a tool's business.
pub(crate) fn variables(config: &Config) -> impl Iterator<Item = &str> {
    config.providers.values().flat_map(|provider| {
        let secrets = provider.key_env.iter().chain(&provider.token_env);
        secrets.chain(&provider.headers_env).map(String::as_str)
    })
}

/// A relative path is meant from the folder of the user's file.
pub(super) fn place(file: &str, config: &Config, lookup: &impl Lookup) -> PathBuf {
    let home = || lookup("HOME").map(PathBuf::from).unwrap_or_default();
    match file.strip_prefix("~/") {
        Some(rest) => home().join(rest),
        None => {
            let folder = config.path.as_deref().and_then(Path::parent).unwrap_or(Path::new("/"));
            folder.join(file)
        }
    }
}

fn from_file(path: &Path) -> Result<String, Refusal> {
    let refuse = |problem: &str, remedy: &str| {
        Refusal::failed(format!(
            "the key file {} cannot be used: {problem}; {remedy}",
            path.display()
        ))
    };
    let unreadable = |error: std::io::Error| refuse(&error.to_string(), "write the key into it");
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(refuse("it is not a file", "name a file"));
    }
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
