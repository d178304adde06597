//! A provider's key in the system's key ring: whether it is looked for, and under which names.
//!
//! Providers that share their variable and their origin are one company over two wires, so one key
//! serves them; apart from that nobody gets another's key.

use crate::config::Config;
use crate::config::provider::Provider;
use crate::environment::Lookup;
use crate::keyring::{self, Found, Ring, Slot, Trouble};

/// A key that is there.
pub(crate) struct Kept {
    /// The provider it was stored for.
    pub(crate) owner: String,
    /// Whether it was given.
    pub(crate) found: Found,
}

/// Is it worth asking? A provider without keys has none there either.
pub(crate) fn is_wanted(provider: &Provider) -> bool {
    provider.keyring.unwrap_or(!provider.is_open())
}

/// Where a provider's key may go. At an address without an origin nobody is asked.
pub(crate) fn origin(name: &str, config: &Config, lookup: &impl Lookup) -> Option<String> {
    keyring::origin(&super::base_url(name, config, lookup).ok()?)
}

/// Looks for a provider's key without disturbing anybody.
pub(crate) fn look(
    ring: &Ring,
    name: &str,
    origin: &str,
    config: &Config,
    lookup: &impl Lookup,
) -> Result<Option<Kept>, Trouble> {
    let own = config.providers.get(name).map(|provider| &provider.key_env);
    let is_same = |other: &str, its: &Provider| {
        other != name
            && !its.key_env.is_empty()
            && Some(&its.key_env) == own
            && self::origin(other, config, lookup).as_deref() == Some(origin)
    };
    let same = config.providers.iter().filter(|(other, its)| is_same(other, its));
    for owner in std::iter::once(name).chain(same.map(|(other, _)| other.as_str())) {
        match ring.look(Slot { provider: owner, origin })? {
            Found::Nothing => {}
            found => return Ok(Some(Kept { owner: owner.to_owned(), found })),
        }
    }
    Ok(None)
}

/// The key. One that is there and locked is asked for, and not to get it is trouble worth telling;
/// trouble before that is told only to those who named the key ring.
pub(super) fn key(
    name: &str,
    origin: &str,
    config: &Config,
    lookup: &impl Lookup,
) -> Result<Option<String>, (Trouble, IsThere)> {
    let unseen = |trouble| (trouble, IsThere(false));
    let ring = Ring::here(lookup).map_err(unseen)?;
    let kept = look(&ring, name, origin, config, lookup).map_err(unseen)?;
    match kept {
        None => Ok(None),
        Some(Kept { found: Found::Key(key), .. }) => Ok(Some(key)),
        Some(Kept { owner, .. }) => ring
            .fetch(Slot { provider: &owner, origin })
            .map(Some)
            .map_err(|trouble| (trouble, IsThere(true))),
    }
}

/// Is a key known to be there?
pub(super) struct IsThere(pub(super) bool);
