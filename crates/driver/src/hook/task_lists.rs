//! Runs hooks for created and completed items of the task lists.
//!
//! If a hook blocks, the change is undone: the list is restored to its state before the call, and
//! the model gets the reason. The text of items is not interpreted.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use windlass_hook::HookEvent;
use windlass_tool::ToolSessionContext;
use windlass_tool::task_lists::{TaskLists, TaskStatus};
use windlass_vocabulary::{HookVerdict, PermissionMode, ToolOutcome};

use super::SessionHooks;

impl SessionHooks {
    /// The lists before a call, if any hook needs the difference.
    pub(crate) fn snapshot_task_lists(
        &self,
        tool_context: &ToolSessionContext,
    ) -> Option<TaskLists> {
        let is_watched = self.has(HookEvent::TaskCreated) || self.has(HookEvent::TaskCompleted);
        is_watched.then(|| tool_context.model.task_lists())
    }

    /// Runs hooks for what the call changed. If one blocks, the change is undone and the call
    /// fails.
    pub(crate) async fn review_task_lists(
        self: &Arc<Self>,
        before: TaskLists,
        tool_context: &ToolSessionContext,
        mode: PermissionMode,
        cancel: CancellationToken,
        outcome: &mut ToolOutcome,
    ) {
        let after = tool_context.model.task_lists();
        for (event, fields) in find_task_changes(&before, &after) {
            let Some(pending) = self.select_hooks(event, None, mode, fields) else { continue };
            let combined = pending.with_cancel(cancel.clone()).run().await;
            if let HookVerdict::Block(why) | HookVerdict::Halt(why) = combined.verdict {
                if tool_context.model.task_lists() == after {
                    tool_context.model.restore_task_lists(before);
                }
                *outcome = ToolOutcome { took: outcome.took, ..ToolOutcome::failure(why) };
                return;
            }
        }
    }
}

/// The created and completed items, in the names of hook events.
fn find_task_changes(
    before: &TaskLists,
    after: &TaskLists,
) -> Vec<(HookEvent, Map<String, Value>)> {
    let mut changes = Vec::new();
    let mut see = |id: String,
                   subject: &str,
                   about: Option<&str>,
                   was: Option<TaskStatus>,
                   is: TaskStatus| {
        let fields = || {
            let task = json!({ "task_id": id, "task_subject": subject });
            let mut fields = task.as_object().cloned().unwrap_or_default();
            fields.extend(about.map(|about| ("task_description".to_owned(), about.into())));
            fields
        };
        if was.is_none() {
            changes.push((HookEvent::TaskCreated, fields()));
        }
        if is == TaskStatus::Completed && was != Some(TaskStatus::Completed) {
            changes.push((HookEvent::TaskCompleted, fields()));
        }
    };
    for (number, task) in &after.tasks {
        let was = before.tasks.get(number).map(|task| task.status);
        let about = Some(task.description.as_str()).filter(|about| !about.is_empty());
        see(number.to_string(), &task.subject, about, was, task.status);
    }
    for (place, todo) in after.todos.iter().enumerate() {
        let was = before.todos.iter().find(|known| known.content == todo.content);
        see((place + 1).to_string(), &todo.content, None, was.map(|was| was.status), todo.status);
    }
    changes
}
