//! Tokens of logins to MCP servers, in the system's key ring: each under a name of its own and the
//! origin it may go to, like keys of providers.

use windlass_driver::mcp::LoginSecretStore;

use windlass_provider::keyring;
use windlass_provider::keyring::{Keyring, KeyringSearchResult, KeyringSlot};

pub(super) struct KeyringSecretStore(pub(super) Keyring);

impl LoginSecretStore for KeyringSecretStore {
    fn get(&self, name: &str, url: &str) -> Option<String> {
        let origin = keyring::url_origin(url)?;
        let slot = KeyringSlot { provider: name, origin: &origin };
        match self.0.search(slot).ok()? {
            KeyringSearchResult::Missing => None,
            KeyringSearchResult::Key(secret) => Some(secret),
            KeyringSearchResult::Withheld => self.0.fetch(slot).ok(),
        }
    }

    fn put(&self, name: &str, url: &str, secret: &str) -> bool {
        let Some(origin) = keyring::url_origin(url) else { return false };
        self.0.store(KeyringSlot { provider: name, origin: &origin }, secret).is_ok()
    }

    fn remove(&self, name: &str) {
        // If the key ring is not available now, it keeps a secret that is useless without the file.
        let _ = self.0.remove(name);
    }
}
