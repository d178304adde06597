//! The two ways not to start: no sandbox on this machine, or not for this plan.
//!
//! Both mean the same to the caller: the command does not run, and the words say why.

use std::io;

/// There is no sandbox on this machine. Says what was tried and what to install.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct SandboxUnavailable {
    words: String,
}

/// This plan cannot be held by the sandbox of this machine.
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
