//! Words about permission that front ends and the loop share. The rules live elsewhere.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::id::AgentId;
use crate::json::Json;
use crate::tool::ToolCall;

/// What happens when no rule speaks.
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
    /// What would ask is denied.
    DontAsk,
    /// What would ask runs. Deny rules still hold.
    BypassPermissions,
}

impl PermissionMode {
    /// The name people write.
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

    /// The mode of that name; `manual` is another word for the default.
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
    /// The call in question, exactly as it would run.
    pub call: ToolCall,
    /// Why it is asked.
    pub why: String,
    /// Rules that would allow this and calls like it from now on.
    pub suggestions: Vec<String>,
    /// The agent that wants it, if it is not the session itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PermissionAnswer {
    /// Run it.
    Allow {
        /// The input was changed by the answerer; judged and inspected again.
        updated_input: Option<Json>,
        /// Rules to add for the rest of the session.
        remember: Vec<String>,
    },
    /// Do not run it.
    Deny {
        /// Told to the model.
        message: String,
        /// Also interrupt the run.
        interrupt: bool,
    },
}
