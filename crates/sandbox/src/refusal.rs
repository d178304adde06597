//! The two ways not to start: no sandbox on this machine, or not for this plan.
//!
//! Both mean the same to the caller: the command does not run, and the words say why.

use std::io;

/// There is no sandbox on this machine. Says what was tried and what to install.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub struct Unavailable {
    words: String,
}

/// This plan cannot be held by the sandbox of this machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the sandbox cannot hold this command: {words}")]
pub struct Refused {
    words: String,
}

impl Unavailable {
    pub(crate) fn new(words: impl Into<String>) -> Self {
        Self { words: words.into() }
    }
}

impl Refused {
    pub(crate) fn new(words: impl Into<String>) -> Self {
        Self { words: words.into() }
    }
}

impl From<Refused> for io::Error {
    fn from(refused: Refused) -> Self {
        Self::other(refused)
    }
}
