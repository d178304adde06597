//! Tasks made, shown and changed one by one.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_vocabulary::{Concurrency, EffectClass, Json, ToolInspection, ToolOutcome};

use super::task_update::{self, TaskUpdateInput};
use super::{ENTRIES_MAX, TEXT_CHARS_MAX, TaskItem, render_task_line};
use crate::input::InputError;
use crate::tool::ToolCallContext;
use crate::typed_tool::{TypedTool, TypedToolFuture, TypedToolResult};

const RESULT_BYTES_MAX: usize = 60_000;

/// Changes nothing but the list, one call at a time.
const EXCLUSIVE_PURE: ToolInspection = ToolInspection {
    problem: None,
    concurrency: Concurrency::Exclusive,
    class: EffectClass::Pure,
    spends: false,
    seen: Vec::new(),
    doubt: None,
};

/// Makes a task.
#[derive(Debug)]
pub(crate) struct TaskCreateTool;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskCreateInput {
    /// What it is about, in a few words.
    subject: String,
    /// All that whoever does it must know.
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

    fn describe(&self) -> (&str, &str, usize) {
        ("TaskCreate", "Adds a task to the task list.", RESULT_BYTES_MAX)
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

    fn run(&self, input: TaskCreateInput, job: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(async move {
            let subject = input.subject.clone();
            let made = job.tool_context.update_task_lists(|lists| {
                if lists.tasks.len() >= ENTRIES_MAX {
                    return None;
                }
                lists.tasks_made += 1;
                let task = TaskItem {
                    subject: input.subject,
                    description: input.description,
                    active_form: input.active_form,
                    metadata: input.metadata.unwrap_or_default(),
                    ..TaskItem::default()
                };
                lists.tasks.insert(lists.tasks_made, task);
                Some(lists.tasks_made)
            });
            let Some(number) = made else {
                return Err(format!("There are {ENTRIES_MAX} tasks, the most there may be."));
            };
            let structured = json!({"task": {"id": number.to_string(), "subject": subject}});
            Ok(build_outcome(format!("Made task #{number}: {subject}"), &structured))
        })
    }
}

pub(super) const TOO_LONG: &str = "longer than 10000 characters";

/// Shows one task.
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

    fn describe(&self) -> (&str, &str, usize) {
        ("TaskGet", "Shows one task with its description.", RESULT_BYTES_MAX)
    }

    fn check_input(&self, input: &TaskGetInput) -> Result<ToolInspection, InputError> {
        task_update::parse_task_number("taskId", &input.task_id)
            .map(|_| ToolInspection::SHARED_READ)
    }

    fn run(&self, input: TaskGetInput, job: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(async move {
            let lists = job.tool_context.task_lists();
            let number = task_update::parse_task_number("taskId", &input.task_id)
                .map_err(|it| it.to_message("TaskGet"))?;
            let task = lists
                .tasks
                .get(&number)
                .ok_or_else(|| task_update::explain_unknown_task(number))?;
            let mut text = render_task_line(number, task);
            text.push_str(&task.description);
            let structured = json!({"task": task_to_json(number, task)});
            Ok(build_outcome(text, &structured))
        })
    }
}

/// Shows all tasks.
#[derive(Debug)]
pub(crate) struct TaskListTool;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct TaskListInput {}

impl TypedTool for TaskListTool {
    type Input = TaskListInput;

    fn describe(&self) -> (&str, &str, usize) {
        ("TaskList", "Lists all tasks with their state.", RESULT_BYTES_MAX)
    }

    fn check_input(&self, _: &TaskListInput) -> Result<ToolInspection, InputError> {
        Ok(ToolInspection::SHARED_READ)
    }

    fn run(&self, _: TaskListInput, job: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(async move {
            let lists = job.tool_context.task_lists();
            let text: String =
                lists.tasks.iter().map(|(number, task)| render_task_line(*number, task)).collect();
            let tasks: Vec<Value> =
                lists.tasks.iter().map(|(number, task)| task_to_json(*number, task)).collect();
            let text = if text.is_empty() { "There are no tasks.".to_owned() } else { text };
            Ok(build_outcome(text, &json!({ "tasks": tasks })))
        })
    }
}

/// Changes a task.
#[derive(Debug)]
pub(crate) struct TaskUpdateTool;

impl TypedTool for TaskUpdateTool {
    type Input = TaskUpdateInput;

    fn describe(&self) -> (&str, &str, usize) {
        let description = "Changes a task: its state, its owner, what it waits for. Set \
                           in_progress when you begin, completed when it is done.";
        ("TaskUpdate", description, RESULT_BYTES_MAX)
    }

    fn check_input(&self, input: &TaskUpdateInput) -> Result<ToolInspection, InputError> {
        input.check().map(|()| EXCLUSIVE_PURE)
    }

    fn run(&self, input: TaskUpdateInput, job: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(async move { update_task(&input, &job) })
    }
}

fn update_task(input: &TaskUpdateInput, job: &ToolCallContext) -> TypedToolResult {
    let number = input.task_number().map_err(|wrong| wrong.to_message("TaskUpdate"))?;
    let changed = job.tool_context.update_task_lists(|lists| input.apply(number, lists))?;
    let said = match changed.as_slice() {
        [] => format!("Nothing of task #{number} was changed."),
        fields if fields == ["deleted"] => format!("Deleted task #{number}."),
        fields => format!("Changed {} of task #{number}.", fields.join(", ")),
    };
    let structured =
        json!({"success": true, "taskId": number.to_string(), "updatedFields": changed});
    Ok(build_outcome(said, &structured))
}

fn task_to_json(number: u64, task: &TaskItem) -> Value {
    let mut view = json!(task);
    if let Value::Object(fields) = &mut view {
        fields.insert("id".to_owned(), json!(number.to_string()));
        for name in ["blocks", "blockedBy"] {
            if let Some(Value::Array(numbers)) = fields.get_mut(name) {
                numbers.iter_mut().for_each(|number| *number = json!(number.to_string()));
            }
        }
    }
    view
}

fn build_outcome(text: String, structured: &Value) -> ToolOutcome {
    let structured = Some(Json::from_checked(&structured.to_string()));
    ToolOutcome { structured, ..ToolOutcome::from_text(text) }
}
