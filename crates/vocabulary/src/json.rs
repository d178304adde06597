//! A JSON document as text, exactly as it was received.
//!
//! Kept as text because it must be sent back to the provider byte for byte, and because the engine
//! never parses it.

use alloc::sync::Arc;
use core::fmt;
use serde::{Deserialize, Serialize};

/// JSON text. Code that creates one from outside data has checked that it parses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Json(Arc<str>);

impl Json {
    /// Wraps text that the caller knows to be valid JSON.
    #[must_use]
    pub fn from_checked(text: &str) -> Self {
        Self(Arc::from(text))
    }

    /// The empty object, for a call without arguments.
    #[must_use]
    pub fn empty_object() -> Self {
        Self::from_checked("{}")
    }

    /// The text itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
