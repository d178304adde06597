//! The keys that must get neither into snapshots nor into packs, for commands without a session.

use windlass_driver::tool_types::Secrets;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_provider::config::Config;
use windlass_provider::known_keys::{find_all_keys, list_known_keys};

/// Those that can be had without starting a program. A mistake in `config.toml` is not theirs to
/// report: the built-in table is used then.
pub(crate) fn load_known_secrets(lookup: &impl EnvLookup) -> Secrets {
    let config = Config::load(lookup).or_else(|_| Config::load_built_in());
    collect(&config.map(|config| list_known_keys(&config, lookup)).unwrap_or_default())
}

/// All that a session could use, for what leaves this machine.
///
/// # Errors
///
/// A key that `config.toml` names cannot be read.
pub(super) fn find_all_secrets(lookup: &impl EnvLookup) -> Result<Secrets, CommandError> {
    Ok(collect(&find_all_keys(&Config::load(lookup)?, lookup)?))
}

fn collect(keys: &[String]) -> Secrets {
    let secrets = Secrets::default();
    keys.iter().for_each(|key| secrets.add(key));
    secrets
}
