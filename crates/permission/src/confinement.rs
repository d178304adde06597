//! How the kernel confines a granted call.
//!
//! Analysing a command decides whether to ask; this limits what a command can do that ran without a
//! question. It follows from the reason of the grant, and can only restrict a call.

use serde::{Deserialize, Serialize};

/// How a granted call is confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confinement {
    /// The call was judged to only read, and ran without a question: it cannot write, use sockets,
    /// or signal processes outside.
    ReadOnly,
    /// The mode allows edits, and the call ran without a question: as above, but it can write
    /// inside the working directories.
    WriteInsideRoots,
    /// The user, an allow rule or a hook permitted this call, or the mode asks for nothing. The
    /// session's sandbox, if there is one, still applies.
    #[default]
    Unconfined,
}

/// Can this machine enforce a [`Confinement`]?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CellSupport {
    /// Not checked: journals from before cells existed, and embedders without a launcher. Commands
    /// are decided as if it were available.
    #[default]
    Unknown,
    /// A command that runs without a question is confined to what it was judged to do.
    Available,
    /// There is no confinement, so only fully understood commands may run without a question.
    Missing,
}

impl CellSupport {
    pub(crate) fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }
}
