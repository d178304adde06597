//! Shows one task with its description.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_vocabulary::ToolInspection;

use super::task_item::{RESULT_BYTES_MAX, explain_unknown_task, parse_task_number, task_to_json};
use crate::input::InputError;
use crate::task_lists::render_task_line;
use crate::tool::ToolCallContext;
use crate::typed_tool::{ToolDescription, TypedTool, TypedToolFuture, build_outcome};

#[derive(Debug)]
pub(crate) struct TaskGetTool;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskGetInput {
    /// Its number.
    task_id: String,
}

impl TypedTool for TaskGetTool {
    type Input = TaskGetInput;

    fn describe(&self) -> ToolDescription<'_> {
        ToolDescription {
            name: "TaskGet",
            text: "Shows one task with its description.",
            result_bytes_max: RESULT_BYTES_MAX,
        }
    }

    fn check_input(&self, input: &TaskGetInput) -> Result<ToolInspection, InputError> {
        parse_task_number("taskId", &input.task_id).map(|_| ToolInspection::SHARED_READ)
    }

    fn run(&self, input: TaskGetInput, call: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(async move {
            let lists = call.tool_context.model.task_lists();
            let number = parse_task_number("taskId", &input.task_id)
                .map_err(|it| it.to_message("TaskGet"))?;
            let task = lists.tasks.get(&number).ok_or_else(|| explain_unknown_task(number))?;
            let mut text = render_task_line(number, task);
            text.push_str(&task.description);
            let structured = json!({"task": task_to_json(number, task)});
            Ok(build_outcome(text, &structured))
        })
    }
}
