//! Ends a background command or agent.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_vocabulary::ToolInspection;

use crate::background::StoppedTask;
use crate::input::InputError;
use crate::tool::ToolCallContext;
use crate::typed_tool::{
    ToolDescription, TypedTool, TypedToolFuture, TypedToolResult, build_outcome,
};

#[derive(Debug)]
pub(crate) struct TaskStopTool;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct TaskStopInput {
    /// The background command or agent, by the name it was given.
    task_id: String,
}

const DESCRIPTION: &str = "Ends a background command or agent with everything it started.";
const RESULT_BYTES_MAX: usize = 10_000;

impl TypedTool for TaskStopTool {
    type Input = TaskStopInput;

    fn describe(&self) -> ToolDescription<'_> {
        ToolDescription { name: "TaskStop", text: DESCRIPTION, result_bytes_max: RESULT_BYTES_MAX }
    }

    /// Only tasks of the session itself can be ended, so no permission is needed.
    fn check_input(&self, _: &TaskStopInput) -> Result<ToolInspection, InputError> {
        Ok(ToolInspection::SHARED_READ)
    }

    fn run(&self, input: TaskStopInput, call: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(perform(input, call))
    }
}

async fn perform(input: TaskStopInput, call: ToolCallContext) -> TypedToolResult {
    let StoppedTask { task, had_ended } = call.tool_context.background.stop(&input.task_id).await?;
    let words = task.end_summary.unwrap_or_default();
    let message = match had_ended {
        true => format!("`{}` had ended already: {words}", task.id),
        false => {
            format!("Ended `{}`. What it wrote is in {}.", task.id, task.output_path.display())
        }
    };
    let structured = json!({"task_id": task.id, "command": task.command, "message": message});
    Ok(build_outcome(message, &structured))
}
