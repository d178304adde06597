//! The credential of a request. Held here only on its way into a header; never shown.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
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

impl Credential {
    /// Its header. A provider's own kind of key goes into `key_header`, or is a bearer token where
    /// there is none.
    pub(crate) fn to_header(&self, key_header: Option<&str>) -> Option<(String, String)> {
        match (self, key_header) {
            (Self::None, _) => None,
            (Self::Key(key), Some(name)) => Some((String::from(name), key.clone())),
            (Self::Key(token), None) | (Self::Bearer(token), _) => {
                Some((String::from("authorization"), format!("Bearer {token}")))
            }
        }
    }
}

/// The headers of a request with a JSON body that is answered by a stream of events.
pub(crate) fn stream_headers() -> Vec<(String, String)> {
    alloc::vec![
        (String::from("content-type"), String::from("application/json")),
        (String::from("accept"), String::from("text/event-stream")),
    ]
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
