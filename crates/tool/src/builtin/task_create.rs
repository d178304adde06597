//! Adds a task to the task list.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_vocabulary::ToolInspection;

use super::task_item::{EXCLUSIVE_PURE, RESULT_BYTES_MAX, TOO_LONG};
use crate::input::InputError;
use crate::task_lists::{ENTRIES_MAX, TEXT_CHARS_MAX, TaskItem, TaskLists};
use crate::tool::ToolCallContext;
use crate::typed_tool::{ToolDescription, TypedTool, TypedToolFuture, build_outcome};

#[derive(Debug)]
pub(crate) struct TaskCreateTool;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskCreateInput {
    /// What it is about, in a few words.
    subject: String,
    /// Everything needed to do it.
    description: String,
    /// What is said while it is under way, for example "Running tests".
    #[serde(default)]
    active_form: Option<String>,
    /// Anything else to note.
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
}

impl TypedTool for TaskCreateTool {
    type Input = TaskCreateInput;

    fn describe(&self) -> ToolDescription<'_> {
        ToolDescription {
            name: "TaskCreate",
            text: "Adds a task to the task list.",
            result_bytes_max: RESULT_BYTES_MAX,
        }
    }

    fn check_input(&self, input: &TaskCreateInput) -> Result<ToolInspection, InputError> {
        if input.subject.trim().is_empty() {
            return Err(InputError::field("subject", "empty"));
        }
        let too_long = |text: &str| text.chars().count() > TEXT_CHARS_MAX;
        if too_long(&input.subject) {
            return Err(InputError::field("subject", TOO_LONG));
        }
        if too_long(&input.description) {
            return Err(InputError::field("description", TOO_LONG));
        }
        Ok(EXCLUSIVE_PURE)
    }

    fn run(&self, input: TaskCreateInput, call: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(async move {
            let subject = input.subject.clone();
            let made = call.tool_context.model.update_task_lists(|lists| input.apply(lists));
            let Some(number) = made else {
                return Err(format!("There are {ENTRIES_MAX} tasks, the most there may be."));
            };
            let structured = json!({"task": {"id": number.to_string(), "subject": subject}});
            Ok(build_outcome(format!("Made task #{number}: {subject}"), &structured))
        })
    }
}

impl TaskCreateInput {
    /// Adds the task and returns its number; `None` if the list is full.
    pub(crate) fn apply(self, lists: &mut TaskLists) -> Option<u64> {
        if lists.tasks.len() >= ENTRIES_MAX {
            return None;
        }
        lists.tasks_made += 1;
        let task = TaskItem {
            subject: self.subject,
            description: self.description,
            active_form: self.active_form,
            metadata: self.metadata.unwrap_or_default(),
            ..TaskItem::default()
        };
        lists.tasks.insert(lists.tasks_made, task);
        Some(lists.tasks_made)
    }
}
