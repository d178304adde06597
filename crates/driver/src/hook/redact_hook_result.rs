//! Removes our own keys from hook results, before anything reads them.
//!
//! Hooks see the environment of the process, and may print a key by accident. Their output reaches
//! the model, the journal and users on several paths, so it is redacted here, where all of them
//! start.

use std::borrow::Cow;

use serde_json::Value;
use windlass_hook::{CombinedHookResult, PermissionRequestAnswer};
use windlass_tool::Secrets;
use windlass_vocabulary::HookVerdict;

/// Removes the keys from every text of the result that the session uses.
pub(super) fn redact_hook_result(result: &mut CombinedHookResult, secrets: &Secrets) {
    let CombinedHookResult {
        verdict,
        decided_by,
        context,
        messages,
        warnings,
        updated_input,
        updated_output,
        permission_answer,
        title,
        first_message,
        spent: _,
        // A session does not use these two: they belong to questions of MCP servers.
        elicitation_answer: _,
        results: _,
    } = result;
    let reason = match verdict {
        HookVerdict::Ask(why)
        | HookVerdict::Defer(why)
        | HookVerdict::Block(why)
        | HookVerdict::Halt(why) => Some(why),
        HookVerdict::Pass | HookVerdict::Allow => None,
    };
    let mut values: Vec<&mut Value> = updated_input.iter_mut().chain(updated_output).collect();
    let denial = match permission_answer {
        Some(PermissionRequestAnswer::Allow { updated_input, remember: _ }) => {
            values.extend(updated_input);
            None
        }
        Some(PermissionRequestAnswer::Deny { message, interrupt: _ }) => Some(message),
        None => None,
    };
    let texts =
        context.iter_mut().chain(messages).chain(warnings).chain(title).chain(first_message);
    for text in texts.chain(reason).chain(denial).chain(std::iter::once(decided_by)) {
        if let Cow::Owned(clean) = secrets.redact(text) {
            *text = clean;
        }
    }
    for value in values {
        if let Cow::Owned(clean) = secrets.redact(&value.to_string()) {
            // The replacement has no character that JSON escapes, so this remains valid JSON.
            *value = serde_json::from_str(&clean).unwrap_or(Value::Null);
        }
    }
}
