//! Why a command does not start: there is no sandbox on this machine, or it cannot enforce the
//! plan.
//!
//! In both cases the command does not run; the message says why.

use std::io;

/// There is no sandbox on this machine. The message says what was tried and what to install.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct SandboxUnavailable {
    words: String,
}

/// This machine's sandbox cannot enforce the plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sandbox cannot hold this command: {words}")]
pub struct SandboxPlanRefusal {
    words: String,
}

impl SandboxUnavailable {
    pub(crate) fn new(words: impl Into<String>) -> Self {
        Self { words: words.into() }
    }
}

impl SandboxPlanRefusal {
    pub(crate) fn new(words: impl Into<String>) -> Self {
        Self { words: words.into() }
    }
}

impl From<SandboxPlanRefusal> for io::Error {
    fn from(refused: SandboxPlanRefusal) -> Self {
        Self::other(refused)
    }
}
