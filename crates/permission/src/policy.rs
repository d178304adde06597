//! Everything a ruling rests on besides the call itself.

use serde::{Deserialize, Serialize};
use windlass_vocabulary::PermissionMode;

use crate::confinement::CellSupport;
use crate::rule::Rules;

/// The policy in force. Part of the context a tool result may update.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// What happens when no rule speaks.
    pub mode: PermissionMode,
    /// The rules, all layers together.
    pub rules: Rules,
    /// Working directories, absolute, without a slash at the end; the first is where we are.
    pub directories: Vec<String>,
    /// Where the shell stands, when it has moved away from the first of them; absolute.
    #[serde(default)]
    pub standing: Option<String>,
    /// Can a user answer a question?
    pub can_ask: bool,
    /// How shell commands are sandboxed, if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<SandboxPolicy>,
    /// Are commands that run unasked held by the kernel?
    #[serde(default, skip_serializing_if = "CellSupport::is_unknown")]
    pub cell: CellSupport,
}

impl Policy {
    /// What relative rules are relative to, wherever the shell has gone.
    pub(crate) fn root(&self) -> Option<&str> {
        self.directories.first().map(String::as_str)
    }

    /// Where the shell stands.
    pub(crate) fn cwd(&self) -> Option<&str> {
        self.standing.as_ref().or(self.directories.first()).map(String::as_str)
    }
}

/// How shell commands are sandboxed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPolicy {
    /// Sandboxed commands run without a question, unless a rule or their effect demands one.
    pub runs_unasked: bool,
    /// A call may ask to run outside.
    pub may_be_left: bool,
    /// Commands that the user excludes from the sandbox: `docker`, `git push:*`.
    pub outside: Vec<String>,
}
