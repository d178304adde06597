//! Judges calls that are not the model's own, but put something before it: they go by the same rules.

use serde_json::{Value, json};
use windlass_driver::{HostFileSystem, ToolRegistry};
use windlass_permission::{PermissionDecision, Policy, PriorDecision, decide_with_file_system};
use windlass_vocabulary::{Json, ToolCall, ToolCallId, ToolName};

pub fn judge_call(
    policy: &Policy,
    registry: &ToolRegistry,
    (name, input): (&str, &Value),
    opinion: PriorDecision,
) -> PermissionDecision {
    let input = Json::from_checked(&input.to_string());
    let inspection = registry.inspect(name, &input);
    let id = ToolCallId::from("prompt");
    let name = ToolName::from(name);
    let call = ToolCall { id, name, input, signature: None };
    decide_with_file_system(policy, call, &inspection, opinion, &HostFileSystem::new())
}

/// May this file be read without a question? Says why not.
pub fn judge_read(policy: &Policy, registry: &ToolRegistry, path: &str) -> Result<(), String> {
    let input = json!({ "file_path": path });
    match judge_call(policy, registry, ("Read", &input), PriorDecision::None) {
        PermissionDecision::Allow(_) => Ok(()),
        PermissionDecision::Ask(question) => Err(question.view().why.clone()),
        PermissionDecision::Deny { why, .. } => Err(why),
    }
}
