//! Where a key comes from: the environment, a file of the user's, a program of the user's.
//!
//! The environment goes first, because it is set for one run. Secrets are trimmed: files and
//! programs leave a line end behind.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use windlass_driver::Credential;

use super::key_command;
use crate::choice::Chosen;
use crate::config::Config;
use crate::config::provider::Provider;
use crate::environment::{self, Lookup};
use crate::refusal::Refusal;

/// A credential, and what to look at when it is refused.
pub(super) struct Proof {
    pub(super) credential: Credential,
    pub(super) advice: String,
    /// The program to ask again when the key is no longer good.
    pub(super) renewal: Option<Vec<String>>,
}

impl Proof {
    /// For a server that asks for none, as far as is known.
    pub(super) fn none(name: &str, provider: &Provider) -> Self {
        let advice = match provider.key_env.first() {
            Some(variable) => format!("it wants a key: set {variable}"),
            None => format!("it wants a key: add key_env to [provider.{name}] in your config.toml"),
        };
        Self { credential: Credential::None, advice, renewal: None }
    }
}

/// Finds the key of a model's provider.
pub(super) fn find(
    chosen: &Chosen,
    provider: &Provider,
    config: &Config,
    lookup: &impl Lookup,
) -> Result<Option<Proof>, Refusal> {
    let found = |credential, advice| Ok(Some(Proof { credential, advice, renewal: None }));
    for variable in &provider.token_env {
        if let Some(token) = environment::text(lookup, variable)? {
            return found(Credential::Bearer(token), format!("check {variable}"));
        }
    }
    for variable in &provider.key_env {
        if let Some(key) = environment::text(lookup, variable)? {
            return found(credential(key), format!("check {variable}"));
        }
    }
    if let Some(file) = &provider.key_file {
        let path = place(file, config, lookup);
        let advice = format!("check the key in {}", path.display());
        return found(credential(from_file(&path)?), advice);
    }
    if let Some(program) = provider.key_command.first() {
        let name = &chosen.provider;
        let key = key_command::run(&provider.key_command).map_err(|problem| {
            Refusal::failed(format!(
                "the key_command of [provider.{name}], `{program}`, gives no key: {problem}; try it \
                 by hand, or set {}",
                provider.key_env.first().map_or("key_env", String::as_str)
            ))
        })?;
        return Ok(Some(Proof {
            credential: credential(key),
            advice: format!("check what `{program}` prints, the key_command of [provider.{name}]"),
            renewal: Some(provider.key_command.clone()),
        }));
    }
    Ok(None)
}

/// A key of the provider's own kind.
pub(super) fn credential(key: String) -> Credential {
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
fn place(file: &str, config: &Config, lookup: &impl Lookup) -> PathBuf {
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
