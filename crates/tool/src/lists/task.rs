//! Tasks made, shown and changed one by one.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_vocabulary::{Concurrency, EffectClass, Inspection, Json, ToolOutcome};

use super::change::{self, Change};
use super::{ENTRIES_MAX, TEXT_CHARS_MAX, Task, line};
use crate::action::{Action, Doing, Done};
use crate::input::Wrong;
use crate::tool::Job;

const RESULT_BYTES_MAX: usize = 60_000;

/// Changes nothing but the list, one call at a time.
const ALONE: Inspection = Inspection {
    problem: None,
    concurrency: Concurrency::Exclusive,
    class: EffectClass::Pure,
    spends: false,
    seen: Vec::new(),
    doubt: None,
};

/// Makes a task.
#[derive(Debug)]
pub(crate) struct TaskCreate;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CreateInput {
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

impl Action for TaskCreate {
    type Input = CreateInput;

    fn words(&self) -> (&str, &str, usize) {
        ("TaskCreate", "Adds a task to the task list.", RESULT_BYTES_MAX)
    }

    fn check(&self, input: &CreateInput) -> Result<Inspection, Wrong> {
        if input.subject.trim().is_empty() {
            return Err(Wrong::field("subject", "empty"));
        }
        let too_long = |text: &str| text.chars().count() > TEXT_CHARS_MAX;
        if too_long(&input.subject) {
            return Err(Wrong::field("subject", TOO_LONG));
        }
        if too_long(&input.description) {
            return Err(Wrong::field("description", TOO_LONG));
        }
        Ok(ALONE)
    }

    fn act(&self, input: CreateInput, job: Job) -> Doing<'_> {
        Box::pin(async move {
            let subject = input.subject.clone();
            let made = job.surroundings.change_lists(|lists| {
                if lists.tasks.len() >= ENTRIES_MAX {
                    return None;
                }
                lists.tasks_made += 1;
                let task = Task {
                    subject: input.subject,
                    description: input.description,
                    active_form: input.active_form,
                    metadata: input.metadata.unwrap_or_default(),
                    ..Task::default()
                };
                lists.tasks.insert(lists.tasks_made, task);
                Some(lists.tasks_made)
            });
            let Some(number) = made else {
                return Err(format!("There are {ENTRIES_MAX} tasks, the most there may be."));
            };
            let structured = json!({"task": {"id": number.to_string(), "subject": subject}});
            Ok(told(format!("Made task #{number}: {subject}"), &structured))
        })
    }
}

pub(super) const TOO_LONG: &str = "longer than 10000 characters";

/// Shows one task.
#[derive(Debug)]
pub(crate) struct TaskGet;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GetInput {
    /// Its number.
    task_id: String,
}

impl Action for TaskGet {
    type Input = GetInput;

    fn words(&self) -> (&str, &str, usize) {
        ("TaskGet", "Shows one task with its description.", RESULT_BYTES_MAX)
    }

    fn check(&self, input: &GetInput) -> Result<Inspection, Wrong> {
        change::number("taskId", &input.task_id).map(|_| Inspection::SHARED_READ)
    }

    fn act(&self, input: GetInput, job: Job) -> Doing<'_> {
        Box::pin(async move {
            let lists = job.surroundings.lists();
            let number =
                change::number("taskId", &input.task_id).map_err(|it| it.told("TaskGet"))?;
            let task = lists.tasks.get(&number).ok_or_else(|| change::missing(number))?;
            let mut text = line(number, task);
            text.push_str(&task.description);
            let structured = json!({"task": view(number, task)});
            Ok(told(text, &structured))
        })
    }
}

/// Shows all tasks.
#[derive(Debug)]
pub(crate) struct TaskList;

#[derive(Deserialize, JsonSchema)]
pub(crate) struct ListInput {}

impl Action for TaskList {
    type Input = ListInput;

    fn words(&self) -> (&str, &str, usize) {
        ("TaskList", "Lists all tasks with their state.", RESULT_BYTES_MAX)
    }

    fn check(&self, _: &ListInput) -> Result<Inspection, Wrong> {
        Ok(Inspection::SHARED_READ)
    }

    fn act(&self, _: ListInput, job: Job) -> Doing<'_> {
        Box::pin(async move {
            let lists = job.surroundings.lists();
            let text: String =
                lists.tasks.iter().map(|(number, task)| line(*number, task)).collect();
            let tasks: Vec<Value> =
                lists.tasks.iter().map(|(number, task)| view(*number, task)).collect();
            let text = if text.is_empty() { "There are no tasks.".to_owned() } else { text };
            Ok(told(text, &json!({ "tasks": tasks })))
        })
    }
}

/// Changes a task.
#[derive(Debug)]
pub(crate) struct TaskUpdate;

impl Action for TaskUpdate {
    type Input = Change;

    fn words(&self) -> (&str, &str, usize) {
        let description = "Changes a task: its state, its owner, what it waits for. Set \
                           in_progress when you begin, completed when it is done.";
        ("TaskUpdate", description, RESULT_BYTES_MAX)
    }

    fn check(&self, input: &Change) -> Result<Inspection, Wrong> {
        input.check().map(|()| ALONE)
    }

    fn act(&self, input: Change, job: Job) -> Doing<'_> {
        Box::pin(async move { update(&input, &job) })
    }
}

fn update(input: &Change, job: &Job) -> Done {
    let number = input.number().map_err(|wrong| wrong.told("TaskUpdate"))?;
    let changed = job.surroundings.change_lists(|lists| input.apply(number, lists))?;
    let said = match changed.as_slice() {
        [] => format!("Nothing of task #{number} was changed."),
        fields if fields == ["deleted"] => format!("Deleted task #{number}."),
        fields => format!("Changed {} of task #{number}.", fields.join(", ")),
    };
    let structured =
        json!({"success": true, "taskId": number.to_string(), "updatedFields": changed});
    Ok(told(said, &structured))
}

fn view(number: u64, task: &Task) -> Value {
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

fn told(text: String, structured: &Value) -> ToolOutcome {
    let structured = Some(Json::from_checked(&structured.to_string()));
    ToolOutcome { structured, ..ToolOutcome::text(text) }
}
