//! Repeats a call that changed the model's task lists, to rebuild them from a conversation.

use windlass_vocabulary::{Json, ToolCall};

use super::{TaskCreateTool, TaskUpdateTool, TodoWriteTool};
use crate::task_lists::TaskLists;
use crate::typed_tool::{TypedTool, TypedToolAdapter};

/// Does a call of this tool change the model's lists?
#[must_use]
pub fn changes_task_lists(call: &ToolCall) -> bool {
    matches!(call.name.as_str(), "TodoWrite" | "TaskCreate" | "TaskUpdate")
}

/// Applies the change that the successful call made. Ignores calls of other tools, and inputs that
/// can no longer be parsed.
pub fn repeat_task_call(lists: &mut TaskLists, call: &ToolCall) {
    let input = &call.input;
    match call.name.as_str() {
        "TodoWrite" => {
            parse_past_input(TodoWriteTool, input).map(|input| input.apply(lists).len());
        }
        "TaskCreate" => {
            parse_past_input(TaskCreateTool, input).and_then(|input| input.apply(lists));
        }
        "TaskUpdate" => {
            parse_past_input(TaskUpdateTool, input).and_then(|input| input.apply(lists).ok());
        }
        _ => {}
    }
}

fn parse_past_input<A: TypedTool>(tool: A, input: &Json) -> Option<A::Input> {
    let (input, _) = TypedToolAdapter::new(tool).parse_and_check(input).ok()?;
    Some(input)
}
