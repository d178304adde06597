//! Why a run is ended before it is done.

use serde::{Deserialize, Serialize};

/// Why a run is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Interrupt {
    /// A person pressed the key.
    User,
    /// A new message replaces what is going on; it says itself why, so no note is added.
    NewMessage,
    /// The process is ending, or its storage failed.
    Shutdown,
    /// The process that ran it was killed; set by the next process.
    Crashed,
}
