//! Lists where a provider's key would come from, in search order. Reads no key and starts nothing.

use std::fmt;
use std::path::PathBuf;

use super::api_key::resolve_key_file;
use crate::config::Config;
use crate::config::provider::ProviderConfig;
use windlass_host::environment;
use windlass_host::environment::EnvLookup;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    Variable(String),
    File(PathBuf),
    Program(String),
    Keyring,
    /// The key ring, which must be unlocked first.
    LockedKeyring,
}

impl KeySource {
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Variable(_) => "environment",
            Self::File(_) => "key_file",
            Self::Program(_) => "key_command",
            Self::Keyring | Self::LockedKeyring => "keyring",
        }
    }
}

impl fmt::Display for KeySource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "environment ({name})"),
            Self::File(path) => write!(f, "key file ({})", path.display()),
            Self::Program(name) => write!(f, "key command ({name})"),
            Self::Keyring => f.write_str("key ring"),
            Self::LockedKeyring => f.write_str("key ring (locked)"),
        }
    }
}

/// The sources that can be checked without asking: the environment, then what the user configured.
pub fn list_configured_sources(
    provider: &ProviderConfig,
    config: &Config,
    lookup: &impl EnvLookup,
) -> Vec<KeySource> {
    let variables = provider.token_env.iter().chain(&provider.key_env);
    let set = variables.filter(|name| environment::is_set(lookup, name)).take(1);
    let mut sources: Vec<KeySource> = set.cloned().map(KeySource::Variable).collect();
    sources.extend(
        provider
            .key_file
            .iter()
            .map(|file| KeySource::File(resolve_key_file(file, config, lookup))),
    );
    sources.extend(provider.key_command.words.first().cloned().map(KeySource::Program));
    sources
}
