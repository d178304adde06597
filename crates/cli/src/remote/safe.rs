//! What logins to servers gave, in the system's key ring: each under a name of its own and the origin it
//! may go to, as keys of providers are.

use windlass_driver::mcp::Safe;

use crate::keyring::{self, Found, Ring, Slot};

/// The key ring as a safe.
pub(super) struct RingSafe(pub(super) Ring);

impl Safe for RingSafe {
    fn get(&self, name: &str, url: &str) -> Option<String> {
        let origin = keyring::origin(url)?;
        let slot = Slot { provider: name, origin: &origin };
        match self.0.look(slot).ok()? {
            Found::Nothing => None,
            Found::Key(secret) => Some(secret),
            Found::Kept => self.0.fetch(slot).ok(),
        }
    }

    fn put(&self, name: &str, url: &str, secret: &str) -> bool {
        let Some(origin) = keyring::origin(url) else { return false };
        self.0.store(Slot { provider: name, origin: &origin }, secret).is_ok()
    }

    fn remove(&self, name: &str) {
        // One that cannot be asked now keeps what nobody can use without the file beside it.
        let _ = self.0.remove(name);
    }
}
