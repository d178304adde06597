//! Lists all tasks.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_vocabulary::ToolInspection;

use super::task_item::{RESULT_BYTES_MAX, task_to_json};
use crate::input::InputError;
use crate::task_lists::render_task_line;
use crate::tool::ToolCallContext;
use crate::typed_tool::{ToolDescription, TypedTool, TypedToolFuture, build_outcome};

#[derive(Debug)]
pub(crate) struct TaskListTool;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct TaskListInput {}

impl TypedTool for TaskListTool {
    type Input = TaskListInput;

    fn describe(&self) -> ToolDescription<'_> {
        ToolDescription {
            name: "TaskList",
            text: "Lists all tasks with their state.",
            result_bytes_max: RESULT_BYTES_MAX,
        }
    }

    fn check_input(&self, _: &TaskListInput) -> Result<ToolInspection, InputError> {
        Ok(ToolInspection::SHARED_READ)
    }

    fn run(&self, _: TaskListInput, call: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(async move {
            let lists = call.tool_context.model.task_lists();
            let text: String =
                lists.tasks.iter().map(|(number, task)| render_task_line(*number, task)).collect();
            let tasks: Vec<Value> =
                lists.tasks.iter().map(|(number, task)| task_to_json(*number, task)).collect();
            let text = if text.is_empty() { "There are no tasks.".to_owned() } else { text };
            Ok(build_outcome(text, &json!({ "tasks": tasks })))
        })
    }
}
