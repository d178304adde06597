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
    pub(crate) subtype: &'static str,
    /// Did it fail?
    pub(crate) is_error: bool,
    /// Since the prompt was taken up.
    pub(crate) duration_ms: u64,
    /// Of which waiting for the model.
    pub(crate) duration_api_ms: u64,
    /// Answers of the model.
    pub(crate) num_turns: u32,
    /// The final answer, or what the provider said when it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<String>,
    /// Why it failed, for the error subtypes.
    pub(crate) errors: Vec<String>,
    /// The status of the last model call, if it failed.
    pub(crate) api_error_status: Option<u16>,
    /// Why it ended.
    pub(crate) terminal_reason: &'static str,
    /// How, when it completed.
    pub(crate) outcome: Option<&'static str>,
    /// Why the model stopped.
    pub(crate) stop_reason: Option<&'static str>,
    /// What the process has cost so far.
    pub(crate) total_cost_usd: Value,
    /// Tokens of this prompt.
    pub(crate) usage: FrameUsage,
    /// What each model has used so far in this process.
    #[serde(rename = "modelUsage")]
    pub(crate) model_usage: BTreeMap<String, FrameModelUsage>,
    /// Calls that were not allowed.
    pub(crate) permission_denials: Vec<PermissionDenial>,
    /// The call that a hook put off, if the prompt ended for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) deferred_tool_use: Option<DeferredToolUse>,
    /// The object that was asked for, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) structured_output: Option<Value>,
    /// Who sent the prompt, as the client said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) origin: Option<Value>,
    /// Prompts that still wait.
    pub(crate) queued_turn_count: usize,
    /// Counts the results of the process, from 0.
    pub(crate) result_index: u64,
    /// The prompt, if the client named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user_message_uuid: Option<String>,
    /// What a prompt that only looks has seen, under the name of what it looked at.
    #[serde(flatten)]
    pub(crate) seen: Map<String, Value>,
}

impl ResultFrame {
    /// Why it failed, if it did.
    pub(crate) fn problem(&self) -> Option<&str> {
        let words = self.errors.first().or(self.result.as_ref());
        words.filter(|_| self.is_error).map(String::as_str)
    }
}

/// A call that a hook put off.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "DeferredUse")]
pub(crate) struct DeferredToolUse {
    /// Its id.
    pub(crate) id: String,
    /// The tool.
    pub(crate) name: String,
    /// Its input.
    pub(crate) input: Value,
}

/// What one model has used.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ModelUse")]
pub(crate) struct FrameModelUsage {
    /// Fresh input.
    pub(crate) input_tokens: u64,
    /// Output.
    pub(crate) output_tokens: u64,
    /// Input read from the cache.
    pub(crate) cache_read_input_tokens: u64,
    /// Input written to the cache.
    pub(crate) cache_creation_input_tokens: u64,
    /// Searches on the provider's side.
    pub(crate) web_search_requests: u64,
    /// What that cost.
    #[serde(rename = "costUSD")]
    pub(crate) cost_usd: f64,
    /// Its window.
    pub(crate) context_window: u64,
    /// The most it can give in one answer.
    pub(crate) max_output_tokens: u64,
}

/// A call that was not allowed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "Denial")]
pub(crate) struct PermissionDenial {
    /// The tool.
    pub(crate) tool_name: String,
    /// The call.
    pub(crate) tool_use_id: String,
    /// Its arguments.
    pub(crate) tool_input: Value,
}
