//! Tools as the loop knows them: a name, a description, a call, an outcome.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

use crate::content::ToolResultPart;
use crate::id::{ToolCallId, text_id};
use crate::json::Json;
use crate::permission::PermissionMode;
use crate::time::Millis;
use crate::usage::MicroUsd;
use core::fmt;

text_id!(
    /// A tool's name, matched literally by rules and hooks.
    ToolName);

/// How a tool is described to a model, and what the loop must know of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// The name models call it by; unique in a registry.
    pub name: ToolName,
    /// What it does, in our words.
    pub description: Arc<str>,
    /// JSON Schema of its input; an object at the root.
    pub input_schema: Json,
    /// A result longer than this many bytes is shortened and spilled.
    pub result_bytes_max: usize,
}

/// One call, complete and parsed as JSON, not yet checked for permission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The provider's name for it.
    pub id: ToolCallId,
    /// The tool wanted.
    pub name: ToolName,
    /// Its arguments: JSON text as received. May be invalid if the model wrote it wrong; then
    /// [`ToolInspection::problem`] is set and the call never runs.
    pub input: Json,
    /// Some providers seal each call; goes back unaltered.
    pub signature: Option<Arc<str>>,
}

/// What the registry knows of a call without running it. Facts for the engine's rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolInspection {
    /// Unknown tool or invalid input, as a message for the model.
    pub problem: Option<String>,
    /// May it run beside others?
    pub concurrency: Concurrency,
    /// What running it twice would mean.
    pub class: EffectClass,
    /// It starts a nested session that draws on this session's budget.
    pub spends: bool,
    /// The entries at the absolute paths it names, as far as the registry checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen: Vec<(Arc<str>, PathKind)>,
    /// Why the user is to be asked even if a rule allows the call: the tool changed since the rule was
    /// made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Arc<String>>,
    /// The tool bounds its own repetitions, so the guard against circles leaves it alone.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub limits_itself: bool,
}

/// The kind of an entry, without following a final symlink.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathKind {
    /// Nothing is there.
    Missing,
    /// A regular file.
    File,
    /// Can hold other entries.
    Directory,
    /// A symbolic link and its target.
    Symlink(Arc<str>),
    /// A pipe, a socket, a device.
    Special,
}

/// May a call run beside others?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Concurrency {
    /// Together with other shared calls.
    Shared,
    /// Alone, in order.
    Exclusive,
}

/// What running a call twice would mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum EffectClass {
    /// Reads only; may run again.
    Pure,
    /// May run again with its key.
    Idempotent,
    /// Changes the world; never run again.
    Effect,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolOutcome {
    /// For the model. Errors are plain text here; the engine adds the error tags.
    pub content: Vec<ToolResultPart>,
    /// Whether `content` describes a failure.
    pub is_error: bool,
    /// It is known to have changed files of the workspace.
    pub changed_workspace: bool,
    /// Files the model has now seen or written, to be read again when a compaction drops them.
    #[serde(default)]
    pub files: Vec<Arc<str>>,
    /// The structured object that hooks and clients see.
    pub structured: Option<Json>,
    /// Applies from the next iteration.
    pub update: Option<ContextUpdate>,
    /// What a nested session spent of the allowance.
    pub spent: MicroUsd,
    /// A nested session runs on in the background: its bill comes later, under the same ticket.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub is_left: bool,
    /// How long it took.
    #[serde(default)]
    pub took: Millis,
}

/// A change a tool asks for in the context of the following iterations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextUpdate {
    /// A new permission mode (plan mode entered or left).
    pub mode: Option<PermissionMode>,
    /// More working directories.
    pub directories: Vec<Arc<str>>,
    /// Tools to offer from now on, after those already there.
    pub tools: Vec<ToolSpec>,
    /// The directory in which commands run from now on.
    #[serde(default)]
    pub working_directory: Option<Arc<str>>,
    /// The current task list as text; empty when there is none any more.
    #[serde(default)]
    pub tasks: Option<Arc<str>>,
}

impl ToolInspection {
    /// A call that may run, alone, and changes the world: the safe assumption.
    pub const EXCLUSIVE_EFFECT: Self = Self {
        problem: None,
        concurrency: Concurrency::Exclusive,
        class: EffectClass::Effect,
        spends: false,
        seen: Vec::new(),
        doubt: None,
        limits_itself: false,
    };

    /// A call that only reads.
    pub const SHARED_READ: Self = Self {
        problem: None,
        concurrency: Concurrency::Shared,
        class: EffectClass::Pure,
        spends: false,
        seen: Vec::new(),
        doubt: None,
        limits_itself: false,
    };

    /// A call that cannot run.
    #[must_use]
    pub fn from_problem(problem: impl Into<String>) -> Self {
        Self { problem: Some(problem.into()), ..Self::SHARED_READ }
    }
}

impl ToolOutcome {
    /// A plain text outcome.
    #[must_use]
    pub fn from_text(text: impl Into<String>) -> Self {
        Self {
            content: alloc::vec![ToolResultPart::Text(text.into())],
            is_error: false,
            changed_workspace: false,
            files: Vec::new(),
            structured: None,
            update: None,
            spent: MicroUsd(0),
            is_left: false,
            took: Millis(0),
        }
    }

    /// A failure whose text the model reads.
    #[must_use]
    pub fn failure(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::from_text(text) }
    }
}
