//! Why a run is interrupted.

use serde::{Deserialize, Serialize};

/// Why a run is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Interrupt {
    /// The user pressed the key.
    User,
    /// A new message replaces the current run; it is self-explanatory, so no note is added.
    NewMessage,
    /// The process is ending, or its storage failed.
    Shutdown,
    /// The process that ran it was killed; set by the next process.
    Crashed,
}
