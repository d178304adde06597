//! The provider's rules for the history of a request on the messages wire.
//!
//! A rehearsal that accepts what the provider would reject would hide bugs, so violations are
//! rejected here too. Only documented rules are checked.

use std::collections::BTreeSet;

use serde_json::Value;

use super::str_at;

/// Describes the first violation.
pub(super) fn find_violation(body: &Value) -> Option<String> {
    if str_at(body, "model").is_empty() {
        return Some("`model` is missing".to_owned());
    }
    if body.get("max_tokens").and_then(Value::as_u64).is_none_or(|tokens| tokens == 0) {
        return Some("`max_tokens` must be a number above 0".to_owned());
    }
    let messages = body.get("messages").and_then(Value::as_array)?;
    if messages.first().is_none_or(|message| str_at(message, "role") != "user") {
        return Some("the first message must be the user's".to_owned());
    }
    if messages.last().is_some_and(|message| str_at(message, "role") != "user") {
        return Some("the last message must be the user's".to_owned());
    }
    if let Some(at) = messages.iter().position(is_empty_message) {
        return Some(format!("message {at} is empty or has an empty text block"));
    }
    find_unpaired_call(messages)
}

fn is_empty_message(message: &Value) -> bool {
    match message.get("content") {
        Some(Value::String(text)) => text.is_empty(),
        Some(Value::Array(blocks)) => {
            let empty = |block| str_at(block, "type") == "text" && str_at(block, "text").is_empty();
            blocks.is_empty() || blocks.iter().any(empty)
        }
        _ => true,
    }
}

/// Every call must have its result in the next user message, and every result its call before it.
fn find_unpaired_call(messages: &[Value]) -> Option<String> {
    let mut seen = BTreeSet::new();
    let mut open = BTreeSet::new();
    let mut role = "";
    for (at, message) in messages.iter().enumerate() {
        let message_role = str_at(message, "role");
        // Neighbours of one role count as one message.
        let speaks = message_role == "assistant" && role != message_role;
        if speaks && let Some(id) = open.pop_first() {
            return Some(format!("call {id} has no result before message {at}"));
        }
        role = message_role;
        for id in collect_ids(message, "tool_use", "id") {
            if !seen.insert(id) {
                return Some(format!("message {at} repeats the call id {id}"));
            }
            open.insert(id);
        }
        for id in collect_ids(message, "tool_result", "tool_use_id") {
            if !open.remove(id) {
                return Some(format!(
                    "message {at} has a result for {id}, which is not an open call"
                ));
            }
        }
    }
    open.pop_first().map(|id| format!("call {id} has no result"))
}

fn collect_ids<'a>(
    message: &'a Value,
    kind: &'a str,
    key: &'a str,
) -> impl Iterator<Item = &'a str> {
    let blocks = message.get("content").and_then(Value::as_array).into_iter().flatten();
    blocks.filter(move |block| str_at(block, "type") == kind).map(move |block| str_at(block, key))
}
