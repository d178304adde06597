//! Types for users' hooks: when they run and their verdicts.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::time::Millis;
use crate::tool::ToolInspection;
use crate::usage::MicroUsd;

/// The points of the loop at which hooks run; the loop waits for them unless the variant says
/// otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HookPoint {
    /// Before a tool, after its input was found valid.
    PreToolUse,
    /// After a tool succeeded.
    PostToolUse,
    /// After a tool failed.
    PostToolUseFailure,
    /// All calls of an answer have their results, and the model was not asked since.
    PostToolBatch,
    /// The main session is about to end successfully.
    Stop,
    /// A sub-agent is about to end successfully.
    SubagentStop,
    /// The run ended in an error; the loop does not wait.
    StopFailure,
    /// History is about to be compacted.
    PreCompact,
    /// History was compacted; the loop does not wait.
    PostCompact,
}

/// The combined result of all hooks at one point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookReport {
    /// The combined verdict.
    pub verdict: HookVerdict,
    /// The hook whose verdict won, for display.
    pub name: String,
    /// Additional text for the model.
    pub context: Vec<String>,
    /// A changed tool input with its inspection; permission is checked again.
    pub updated: Option<(Json, ToolInspection)>,
    /// After a tool: replaces the tool's result for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The cost of model calls for the hooks.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub spent: MicroUsd,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks like this")]
fn is_nothing(spent: &MicroUsd) -> bool {
    spent.0 == 0
}

/// What front ends show of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookNotice {
    /// The program or request runs from now on.
    Started {
        /// Its number, repeated when it ends.
        number: u64,
        /// The public name of the event.
        event: &'static str,
        /// The event, and a tool's name or a source.
        name: String,
    },
    /// Its result is known.
    Ended {
        /// The number from its start.
        number: u64,
        /// The public name of the event.
        event: &'static str,
        /// The event, and a tool's name or a source.
        name: String,
        /// The hook's action.
        hook: String,
        /// Its output, truncated.
        stdout: String,
        /// Its standard error, truncated.
        stderr: String,
        /// A command's exit code, or a server's status.
        exit_code: Option<i32>,
        /// The result.
        outcome: HookOutcome,
        /// The duration.
        took: Millis,
    },
}

/// The result of one hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookOutcome {
    /// It succeeded, with or without an answer.
    Success,
    /// It failed.
    Error,
    /// Stopped before it had a result.
    Cancelled,
}

/// What a hook decided. A closed list; the strongest of several wins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum HookVerdict {
    /// No opinion.
    #[default]
    Pass,
    /// Run the tool without asking. Never overrides a deny rule.
    Allow,
    /// Ask first, even if the rules allow it.
    Ask(String),
    /// Before a tool: decide later. The run ends, and the call is decided again when the session
    /// continues. Contains the reason for the user.
    Defer(String),
    /// Before a tool: do not run it. At a stop: continue. Contains the reason for the model.
    Block(String),
    /// End the run. Contains the reason for the user.
    Halt(String),
}
