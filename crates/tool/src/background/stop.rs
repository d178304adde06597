//! Ends a background command or agent.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use windlass_vocabulary::{Inspection, Json, ToolOutcome};

use crate::action::{Action, Doing, Done};
use crate::input::Wrong;
use crate::tool::Job;

/// The tool.
#[derive(Debug)]
pub(crate) struct TaskStop;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// The background command or agent, by the name it was given.
    task_id: String,
}

const DESCRIPTION: &str = "Ends a background command or agent with everything it started.";
const RESULT_BYTES_MAX: usize = 10_000;

impl Action for TaskStop {
    type Input = Input;

    fn words(&self) -> (&str, &str, usize) {
        ("TaskStop", DESCRIPTION, RESULT_BYTES_MAX)
    }

    /// Only what the session started itself can be ended, so there is nothing to ask about.
    fn check(&self, _: &Input) -> Result<Inspection, Wrong> {
        Ok(Inspection::SHARED_READ)
    }

    fn act(&self, input: Input, job: Job) -> Doing<'_> {
        Box::pin(perform(input, job))
    }
}

async fn perform(input: Input, job: Job) -> Done {
    let (task, had_ended) = job.surroundings.background().stop(&input.task_id).await?;
    let words = task.ended.unwrap_or_default();
    let said = match had_ended {
        true => format!("`{}` had ended already: {words}", task.id),
        false => format!("Ended `{}`. What it wrote is in {}.", task.id, task.output.display()),
    };
    let structured = json!({"task_id": task.id, "command": task.command, "message": said});
    let structured = Some(Json::from_checked(&structured.to_string()));
    Ok(ToolOutcome { structured, ..ToolOutcome::text(said) })
}
