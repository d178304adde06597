//! A provider's key in the system's key ring: whether it is searched, and under which names.
//!
//! Providers with the same variable and origin are one company with two wires, so they share a key;
//! otherwise no provider gets another's key.

use crate::config::Config;
use crate::config::provider::ProviderConfig;
use crate::keyring;
use crate::keyring::{Keyring, KeyringError, KeyringSearchResult, KeyringSlot};
use windlass_host::environment::EnvLookup;

pub struct KeyringKey {
    pub owner: String,
    pub content: KeyringSearchResult,
}

/// Should the key ring be searched? Not for a provider without keys.
pub fn uses_keyring(provider: &ProviderConfig) -> bool {
    provider.keyring.unwrap_or(!provider.needs_no_key())
}

/// The origin to which a provider's key may be sent; `None` for an invalid address.
pub fn key_origin(name: &str, config: &Config, lookup: &impl EnvLookup) -> Option<String> {
    keyring::url_origin(&crate::base_url::resolve_base_url(name, config, lookup).ok()?)
}

/// Searches a provider's key without asking the user to unlock the key ring.
pub fn find_keyring_key(
    ring: &Keyring,
    name: &str,
    origin: &str,
    config: &Config,
    lookup: &impl EnvLookup,
) -> Result<Option<KeyringKey>, KeyringError> {
    let own = config.providers.get(name).map(|provider| &provider.key_env);
    let is_same = |other: &str, its: &ProviderConfig| {
        other != name
            && !its.key_env.is_empty()
            && Some(&its.key_env) == own
            && key_origin(other, config, lookup).as_deref() == Some(origin)
    };
    let same = config.providers.iter().filter(|(other, its)| is_same(other, its));
    for owner in std::iter::once(name).chain(same.map(|(other, _)| other.as_str())) {
        match ring.search(KeyringSlot { provider: owner, origin })? {
            KeyringSearchResult::Missing => {}
            content @ (KeyringSearchResult::Withheld | KeyringSearchResult::Key(_)) => {
                return Ok(Some(KeyringKey { owner: owner.to_owned(), content }));
            }
        }
    }
    Ok(None)
}

/// A key and its source.
#[derive(Clone)]
pub(super) struct FetchedKey {
    pub(super) key: String,
    ring: Keyring,
    owner: String,
    origin: String,
}

impl FetchedKey {
    /// The current key, which the user may have replaced.
    pub(super) fn fetch_again(&self) -> Option<String> {
        let slot = KeyringSlot { provider: &self.owner, origin: &self.origin };
        match self.ring.search(slot).ok()? {
            KeyringSearchResult::Missing => None,
            KeyringSearchResult::Key(key) => Some(key),
            KeyringSearchResult::Withheld => self.ring.fetch(slot).ok(),
        }
    }
}

/// Returns the key. If it is locked the user is asked to unlock it, and a failure is reported;
/// earlier errors are reported only if `config.toml` requires the key ring.
pub(super) fn fetch_keyring_key(
    name: &str,
    origin: &str,
    config: &Config,
    lookup: &impl EnvLookup,
) -> Result<Option<FetchedKey>, (KeyringError, IsKeyPresent)> {
    let unseen = |error| (error, IsKeyPresent(false));
    let ring = Keyring::detect(lookup).map_err(unseen)?;
    let Some(KeyringKey { owner, content: found }) =
        find_keyring_key(&ring, name, origin, config, lookup).map_err(unseen)?
    else {
        return Ok(None);
    };
    let key = match found {
        KeyringSearchResult::Key(key) => key,
        KeyringSearchResult::Missing | KeyringSearchResult::Withheld => ring
            .fetch(KeyringSlot { provider: &owner, origin })
            .map_err(|error| (error, IsKeyPresent(true)))?,
    };
    Ok(Some(FetchedKey { key, ring, owner, origin: origin.to_owned() }))
}

pub(super) struct IsKeyPresent(pub(super) bool);
