//! Replaces the list of current steps.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_vocabulary::ToolInspection;

use crate::input::InputError;
use crate::task_lists::{ENTRIES_MAX, TEXT_CHARS_MAX, TaskLists, TaskStatus, TodoItem};
use crate::tool::ToolCallContext;
use crate::typed_tool::{ToolDescription, TypedTool, TypedToolFuture, build_outcome};

#[derive(Debug)]
pub(crate) struct TodoWriteTool;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct TodoWriteInput {
    /// The whole list.
    todos: Vec<TodoItem>,
}

const DESCRIPTION: &str = "Keeps a list of the steps of work that has more than two, so that \
nothing is forgotten and people can follow. Give the whole list each time. Have one step \
in_progress, and mark each completed as soon as it is.";

const RESULT_BYTES_MAX: usize = 10_000;

impl TypedTool for TodoWriteTool {
    type Input = TodoWriteInput;

    fn describe(&self) -> ToolDescription<'_> {
        ToolDescription { name: "TodoWrite", text: DESCRIPTION, result_bytes_max: RESULT_BYTES_MAX }
    }

    fn check_input(&self, input: &TodoWriteInput) -> Result<ToolInspection, InputError> {
        if input.todos.len() > ENTRIES_MAX {
            return Err(InputError::field("todos", format!("more than {ENTRIES_MAX} entries")));
        }
        let is_long = |todo: &TodoItem| todo.content.chars().count() > TEXT_CHARS_MAX;
        if input.todos.iter().any(is_long) {
            let why = format!("an entry of more than {TEXT_CHARS_MAX} characters");
            return Err(InputError::field("todos", why));
        }
        if input.todos.iter().any(|todo| todo.content.trim().is_empty()) {
            return Err(InputError::field("todos", "an entry without content"));
        }
        // Changes only the list, but concurrent calls would overwrite each other.
        Ok(ToolInspection {
            concurrency: windlass_vocabulary::Concurrency::Exclusive,
            ..ToolInspection::SHARED_READ
        })
    }

    fn run(&self, input: TodoWriteInput, call: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(async move {
            let before = call.tool_context.model.update_task_lists(|lists| input.apply(lists));
            let done =
                input.todos.iter().filter(|todo| todo.status == TaskStatus::Completed).count();
            let structured = json!({"oldTodos": before, "newTodos": input.todos});
            let text = format!("Noted: {done} of {} done.", input.todos.len());
            Ok(build_outcome(text, &structured))
        })
    }
}

impl TodoWriteInput {
    /// Replaces the list and returns the old one.
    pub(crate) fn apply(&self, lists: &mut TaskLists) -> Vec<TodoItem> {
        std::mem::replace(&mut lists.todos, self.todos.clone())
    }
}
