//! The credential of a request. Held here only on its way into a header; never shown.

use alloc::string::String;
use core::fmt;

/// The credential of a request. Its `Debug` hides the secret.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// None, for a local server that requires no authentication.
    None,
    /// The provider's own kind of key.
    Key(String),
    /// Sent as `authorization: Bearer …`.
    Bearer(String),
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Key(_) => "Key(hidden)",
            Self::Bearer(_) => "Bearer(hidden)",
        })
    }
}
