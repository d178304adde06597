//! Types for permissions that front ends and the loop share. The rules are in the permission crate.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::id::AgentId;
use crate::json::Json;
use crate::tool::ToolCall;

/// What happens when no rule matches.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "camelCase")]
pub enum PermissionMode {
    /// Reads inside the working directories run, everything else asks.
    #[default]
    Default,
    /// Edits inside the working directories run too.
    AcceptEdits,
    /// Nothing that changes anything runs.
    Plan,
    /// Denies what would ask.
    DontAsk,
    /// Allows what would ask. Deny rules still apply.
    BypassPermissions,
}

impl PermissionMode {
    /// The public name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Plan => "plan",
            Self::DontAsk => "dontAsk",
            Self::BypassPermissions => "bypassPermissions",
        }
    }

    /// The mode with that name; `manual` is a synonym of the default.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "default" | "manual" => Self::Default,
            "acceptEdits" => Self::AcceptEdits,
            "plan" => Self::Plan,
            "dontAsk" => Self::DontAsk,
            "bypassPermissions" => Self::BypassPermissions,
            _ => return None,
        })
    }
}

/// A question to the user, or to the client that answers for them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionQuestion {
    /// The call, exactly as it would run.
    pub call: ToolCall,
    /// The reason for the question.
    pub why: String,
    /// Rules that would allow this and calls like it from now on.
    pub suggestions: Vec<String>,
    /// The agent that makes the call, if it is not the session itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
}

/// The answer to a permission question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PermissionAnswer {
    /// Run it.
    Allow {
        /// Input changed by the user; it is inspected and checked again.
        updated_input: Option<Json>,
        /// Rules to add for the rest of the session.
        remember: Vec<String>,
    },
    /// Do not run it.
    Deny {
        /// For the model.
        message: String,
        /// Also interrupt the run.
        interrupt: bool,
    },
}
