//! The end of a prompt.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::FrameUsage;

/// How a prompt ended and what it took.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ResultFrame {
    /// `success`, or what kind of error.
    pub subtype: &'static str,
    /// Did it fail?
    pub is_error: bool,
    #[serde(flatten)]
    pub durations: ResultDurations,
    /// The final answer, or what the provider said when it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Why it failed, for the error subtypes.
    pub errors: Vec<String>,
    #[serde(flatten)]
    pub ending: ResultEnding,
    #[serde(flatten)]
    pub cost: ResultCost,
    /// Calls that were not allowed.
    pub permission_denials: Vec<PermissionDenial>,
    /// The call that a hook deferred, if the prompt ended for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred_tool_use: Option<DeferredToolUse>,
    /// The object that was asked for, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_output: Option<Value>,
    #[serde(flatten)]
    pub prompt: ResultPrompt,
    /// What a prompt that only looks has seen, under the name of what it looked at.
    #[serde(flatten)]
    pub seen: Map<String, Value>,
}

// The parts below are flattened into the frame in the order of their keys on the wire. They have no
// doc comments, because those would become text of the published schema.

// How long it took.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ResultDurations {
    /// Since the prompt was taken up.
    pub duration_ms: u64,
    /// Of which waiting for the model.
    pub duration_api_ms: u64,
    /// Answers of the model.
    pub num_turns: u32,
}

// Why it ended.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ResultEnding {
    /// The status of the last model call, if it failed.
    pub api_error_status: Option<u16>,
    /// Why it ended.
    pub terminal_reason: &'static str,
    /// How, when it completed.
    pub outcome: Option<&'static str>,
    /// Why the model stopped.
    pub stop_reason: Option<&'static str>,
}

// What it used.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ResultCost {
    /// What the process has cost so far.
    pub total_cost_usd: Value,
    /// Tokens of this prompt.
    pub usage: FrameUsage,
    /// What each model has used so far in this process.
    #[serde(rename = "modelUsage")]
    pub model_usage: BTreeMap<String, FrameModelUsage>,
}

// Which prompt it ends, and what waits behind it.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ResultPrompt {
    /// Who sent the prompt, as the client said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Value>,
    /// Prompts that still wait.
    pub queued_turn_count: usize,
    /// Counts the results of the process, from 0.
    pub result_index: u64,
    /// The prompt, if the client named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_message_uuid: Option<String>,
}

impl ResultFrame {
    /// Why it failed, if it did.
    pub(crate) fn problem(&self) -> Option<&str> {
        let words = self.errors.first().or(self.result.as_ref());
        words.filter(|_| self.is_error).map(String::as_str)
    }
}

/// A call that a hook deferred.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "DeferredUse")]
pub(crate) struct DeferredToolUse {
    /// Its id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its input.
    pub input: Value,
}

/// What one model has used.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ModelUse")]
pub(crate) struct FrameModelUsage {
    /// Fresh input.
    pub input_tokens: u64,
    /// Output.
    pub output_tokens: u64,
    /// Input read from the cache.
    pub cache_read_input_tokens: u64,
    /// Input written to the cache.
    pub cache_creation_input_tokens: u64,
    /// Searches on the provider's side.
    pub web_search_requests: u64,
    /// What that cost.
    #[serde(rename = "costUSD")]
    pub cost_usd: f64,
    /// Its window.
    pub context_window: u64,
    /// The most it can give in one answer.
    pub max_output_tokens: u64,
}

/// A call that was not allowed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Denial")]
pub(crate) struct PermissionDenial {
    /// The tool.
    pub tool_name: String,
    /// The call.
    pub tool_use_id: String,
    /// Its arguments.
    pub tool_input: Value,
}
