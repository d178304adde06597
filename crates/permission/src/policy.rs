//! The input of a decision, besides the call itself.

use serde::{Deserialize, Serialize};
use windlass_vocabulary::PermissionMode;

use crate::confinement::CellSupport;
use crate::rule::Rules;

/// The current policy. Tool results may update it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// The mode, for calls that no rule matches.
    pub mode: PermissionMode,
    /// The rules of all layers.
    pub rules: Rules,
    /// Working directories, absolute, without a trailing slash; the first is the main one.
    pub directories: Vec<String>,
    /// The shell's directory, if it is not the first one; absolute.
    #[serde(default)]
    pub standing: Option<String>,
    /// Can a user answer a question?
    pub can_ask: bool,
    /// How shell commands are sandboxed, if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<SandboxPolicy>,
    /// Are commands confined that run without a question?
    #[serde(default, skip_serializing_if = "CellSupport::is_unknown")]
    pub cell: CellSupport,
}

impl Policy {
    /// The root of relative rules, independent of the shell's directory.
    pub(crate) fn root(&self) -> Option<&str> {
        self.directories.first().map(String::as_str)
    }

    /// The shell's directory.
    pub(crate) fn cwd(&self) -> Option<&str> {
        self.standing.as_ref().or(self.directories.first()).map(String::as_str)
    }
}

/// How shell commands are sandboxed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPolicy {
    /// Sandboxed commands run without a question, unless a rule or their effect requires one.
    pub runs_unasked: bool,
    /// A call may request to run outside.
    pub may_be_left: bool,
    /// Commands that the user excluded from the sandbox: `docker`, `git push:*`.
    pub outside: Vec<String>,
}
