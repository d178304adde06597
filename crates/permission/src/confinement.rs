//! What the kernel holds a granted call to while it runs.
//!
//! Reading a command decides whether to ask; this says what a command may do that ran without a
//! question. It comes from the reason that let the call through, and only makes a call weaker.

use serde::{Deserialize, Serialize};

/// What a granted call may do while it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confinement {
    /// It was judged to only read, and nobody was asked: it can write nothing, reach no socket and
    /// signal no process outside.
    ReadOnly,
    /// The mode lets edits through, and nobody was asked: as above, but it may write inside the
    /// working directories.
    WriteInsideRoots,
    /// The user said yes to this call, an allow rule or a hook lets it run, or the mode asks for
    /// nothing. Where the session has a sandbox, that holds it all the same.
    #[default]
    Unconfined,
}

/// Can commands be held to a [`Confinement`] on this machine?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellSupport {
    /// Nobody looked: journals from before there was a cell, and embedders who set no launcher.
    /// Commands are judged as if there were one.
    #[default]
    Unknown,
    /// A command that is let through unasked is held to what it was judged to do.
    Available,
    /// Nothing holds it, so only what is completely understood may run unasked.
    Missing,
}

impl CellSupport {
    pub(crate) fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }
}
