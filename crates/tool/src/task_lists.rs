//! The model's task lists. A compaction keeps them unchanged.
//!
//! There are two kinds: a short list of steps that is always replaced as a whole, and tasks that
//! are created and changed one by one. Their text is not interpreted, only limited in size.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) const ENTRIES_MAX: usize = 500;
pub(crate) const TEXT_CHARS_MAX: usize = 10_000;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskLists {
    #[serde(default)]
    pub todos: Vec<TodoItem>,
    #[serde(default)]
    pub tasks: BTreeMap<u64, TaskItem>,
    #[serde(default)]
    pub tasks_made: u64,
}

/// How far something is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Not begun.
    #[default]
    Pending,
    /// Under way.
    InProgress,
    /// Done.
    Completed,
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TodoItem {
    /// What to do.
    pub content: String,
    /// How far it is.
    pub status: TaskStatus,
    /// What is said while it is under way, for example "Running tests".
    pub active_form: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskItem {
    pub subject: String,
    /// All that is needed to do it.
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    pub status: TaskStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    #[serde(default)]
    pub blocks: Vec<u64>,
    #[serde(default)]
    pub blocked_by: Vec<u64>,
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub metadata: serde_json::Map<String, Value>,
}

impl TaskLists {
    /// The lists as text for the model; `None` while they are empty.
    #[must_use]
    pub fn render(&self) -> Option<String> {
        let mut text = String::new();
        if !self.todos.is_empty() {
            text.push_str("Todo list:\n");
            for todo in &self.todos {
                text.push_str(&format!("{} {}\n", status_mark(todo.status), todo.content));
            }
        }
        if !self.tasks.is_empty() {
            text.push_str("Tasks:\n");
            for (number, task) in &self.tasks {
                text.push_str(&render_task_line(*number, task));
            }
        }
        (!text.is_empty()).then_some(text)
    }
}

fn status_mark(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Pending => "[ ]",
        TaskStatus::InProgress => "[~]",
        TaskStatus::Completed => "[x]",
    }
}

pub(crate) fn render_task_line(number: u64, task: &TaskItem) -> String {
    let mut line = format!("{} #{number} {}", status_mark(task.status), task.subject);
    if let Some(owner) = &task.owner {
        line.push_str(&format!(" ({owner})"));
    }
    if !task.blocked_by.is_empty() {
        let waits: Vec<String> = task.blocked_by.iter().map(|it| format!("#{it}")).collect();
        line.push_str(&format!(" waits for {}", waits.join(", ")));
    }
    line.push('\n');
    line
}
