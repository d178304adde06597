//! Rebuilds the model's task lists from the calls of a conversation that changed them.
//!
//! They live only in memory, so a resumed or rewound session would otherwise start with lists that
//! do not match its conversation.

use std::collections::HashMap;
use std::sync::Arc;

use windlass_tool::{TaskLists, changes_task_lists, repeat_task_call};
use windlass_vocabulary::{ContentBlock, Message, ToolCall, ToolCallId};

/// `None` if no call of the conversation changed a list.
pub(crate) fn rebuild_task_lists<'a>(
    messages: impl Iterator<Item = &'a Arc<Message>>,
) -> Option<TaskLists> {
    let mut lists = None;
    let mut open: HashMap<&ToolCallId, &ToolCall> = HashMap::new();
    for block in messages.flat_map(|message| &message.content) {
        if let ContentBlock::ToolUse(call) = block
            && changes_task_lists(call)
        {
            open.insert(&call.id, call);
        }
        if let ContentBlock::ToolResult(result) = block
            && let Some(call) = open.remove(&result.call)
            && !result.is_error
        {
            repeat_task_call(lists.get_or_insert_default(), call);
        }
    }
    lists
}
