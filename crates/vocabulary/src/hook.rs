//! Words about users' hooks: when they run and what they may say.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::json::Json;
use crate::time::Millis;
use crate::tool::ToolInspection;
use crate::usage::MicroUsd;

/// The moments of the loop at which hooks run; unless said otherwise, the loop waits for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum HookPoint {
    /// Before a tool, after its input was found valid.
    PreToolUse,
    /// After a tool succeeded.
    PostToolUse,
    /// After a tool failed.
    PostToolUseFailure,
    /// All calls of an answer have their results, and no model was asked since.
    PostToolBatch,
    /// The main session is about to end well.
    Stop,
    /// A sub-agent is about to end well.
    SubagentStop,
    /// The run ended in an error; never waited for.
    StopFailure,
    /// History is about to be compacted.
    PreCompact,
    /// History was compacted; never waited for.
    PostCompact,
}

/// The joint verdict of every hook at one point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookReport {
    /// What they decided.
    pub verdict: HookVerdict,
    /// The hook that decided, for the record.
    pub name: String,
    /// Text for the model, beside the verdict.
    pub context: Vec<String>,
    /// A changed tool input with what the registry says of it; permission is asked again.
    pub updated: Option<(Json, ToolInspection)>,
    /// After a tool: what the model sees instead of what the tool returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// What asking models on their behalf cost.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub spent: MicroUsd,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks like this")]
fn is_nothing(spent: &MicroUsd) -> bool {
    spent.0 == 0
}

/// What front ends show of one hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookNotice {
    /// It was started.
    Started {
        /// Its number, the same when it ends.
        number: u64,
        /// When, by the public name.
        event: &'static str,
        /// The event, and a tool's name or a source.
        name: String,
    },
    /// It ended.
    Ended {
        /// The number it was announced with.
        number: u64,
        /// When, by the public name.
        event: &'static str,
        /// The event, and a tool's name or a source.
        name: String,
        /// What was asked.
        hook: String,
        /// What it wrote, its beginning if it was long.
        stdout: String,
        /// What it complained about, the beginning if it was long.
        stderr: String,
        /// A program's exit code, a server's status.
        exit_code: Option<i32>,
        /// How it went.
        outcome: HookOutcome,
        /// How long it took.
        took: Millis,
    },
}

/// How it went with one hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookOutcome {
    /// It said something, or nothing.
    Success,
    /// It failed.
    Error,
    /// It was called off.
    Cancelled,
}

/// What hooks may say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum HookVerdict {
    /// No opinion.
    #[default]
    Pass,
    /// Run the tool without asking. Never lifts a deny rule.
    Allow,
    /// Ask first, even if the rules allow it.
    Ask(String),
    /// Before a tool: decide later. The run ends, and the call is decided again when the session
    /// continues. Contains the reason for the user.
    Defer(String),
    /// Before a tool: do not run it. At a stop: do not stop yet. Carries the reason for the model.
    Block(String),
    /// End the run. Carries the reason for people.
    Halt(String),
}
