//! Where a provider's key would come from, in the order of looking. Reads no key and starts nothing.

use std::fmt;
use std::path::PathBuf;

use super::key::place;
use crate::config::Config;
use crate::config::provider::Provider;
use crate::environment::{self, Lookup};

/// One place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A variable of the environment.
    Variable(String),
    /// A file the user's configuration names.
    File(PathBuf),
    /// A program the user's configuration names.
    Program(String),
    /// The key ring.
    Ring,
    /// The key ring, which does not give it without being unlocked.
    LockedRing,
}

impl Source {
    /// For scripts.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Variable(_) => "environment",
            Self::File(_) => "key_file",
            Self::Program(_) => "key_command",
            Self::Ring | Self::LockedRing => "keyring",
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Variable(name) => write!(f, "environment ({name})"),
            Self::File(path) => write!(f, "key file ({})", path.display()),
            Self::Program(name) => write!(f, "key command ({name})"),
            Self::Ring => f.write_str("key ring"),
            Self::LockedRing => f.write_str("key ring (locked)"),
        }
    }
}

/// The places that need no asking: the environment, then what the user's file names.
pub(crate) fn named(provider: &Provider, config: &Config, lookup: &impl Lookup) -> Vec<Source> {
    let variables = provider.token_env.iter().chain(&provider.key_env);
    let set = variables.filter(|name| environment::is_set(lookup, name)).take(1);
    let mut sources: Vec<Source> = set.cloned().map(Source::Variable).collect();
    sources.extend(provider.key_file.iter().map(|file| Source::File(place(file, config, lookup))));
    sources.extend(provider.key_command.first().cloned().map(Source::Program));
    sources
}
