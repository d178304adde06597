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

/// A key that was taken, and where from.
#[derive(Clone)]
pub(super) struct Taken {
    pub(super) key: String,
    ring: Ring,
    owner: String,
    origin: String,
}

impl Taken {
    /// The key as it is now: somebody may have put another in its place.
    pub(super) fn again(&self) -> Option<String> {
        let slot = Slot { provider: &self.owner, origin: &self.origin };
        match self.ring.look(slot).ok()? {
            Found::Nothing => None,
            Found::Key(key) => Some(key),
            Found::Kept => self.ring.fetch(slot).ok(),
        }
    }
}

/// The key. One that is there and locked is asked for, and not to get it is trouble worth telling;
/// trouble before that is told only to those who named the key ring.
pub(super) fn key(
    name: &str,
    origin: &str,
    config: &Config,
    lookup: &impl Lookup,
) -> Result<Option<Taken>, (Trouble, IsThere)> {
    let unseen = |trouble| (trouble, IsThere(false));
    let ring = Ring::here(lookup).map_err(unseen)?;
    let Some(Kept { owner, found }) = look(&ring, name, origin, config, lookup).map_err(unseen)?
    else {
        return Ok(None);
    };
    let key = match found {
        Found::Key(key) => key,
        Found::Nothing | Found::Kept => ring
            .fetch(Slot { provider: &owner, origin })
            .map_err(|trouble| (trouble, IsThere(true)))?,
    };
    Ok(Some(Taken { key, ring, owner, origin: origin.to_owned() }))
}

/// Is a key known to be there?
pub(super) struct IsThere(pub(super) bool);
