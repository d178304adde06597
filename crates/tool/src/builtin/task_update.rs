//! Changes one task, atomically after all checks.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_vocabulary::ToolInspection;

use super::task_item::{
    EXCLUSIVE_PURE, RESULT_BYTES_MAX, TOO_LONG, explain_unknown_task, parse_task_number,
};
use crate::input::InputError;
use crate::task_lists::{TEXT_CHARS_MAX, TaskItem, TaskLists, TaskStatus};
use crate::tool::ToolCallContext;
use crate::typed_tool::{
    ToolDescription, TypedTool, TypedToolFuture, TypedToolResult, build_outcome,
};

#[derive(Debug)]
pub(crate) struct TaskUpdateTool;

/// What is to be changed.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskUpdateInput {
    /// Its number.
    task_id: String,
    #[serde(default)]
    status: Option<TaskUpdateStatus>,
    #[serde(default)]
    subject: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    active_form: Option<String>,
    /// Who does it.
    #[serde(default)]
    owner: Option<String>,
    /// Numbers of tasks that wait for this one.
    #[serde(default)]
    add_blocks: Vec<String>,
    /// Numbers of tasks this one waits for.
    #[serde(default)]
    add_blocked_by: Vec<String>,
    /// Noted besides; null takes a note away.
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum TaskUpdateStatus {
    Pending,
    InProgress,
    Completed,
    Deleted,
}

impl TypedTool for TaskUpdateTool {
    type Input = TaskUpdateInput;

    fn describe(&self) -> ToolDescription<'_> {
        let description = "Changes a task: its state, its owner, what it waits for. Set \
                           in_progress when you begin, completed when it is done.";
        ToolDescription {
            name: "TaskUpdate",
            text: description,
            result_bytes_max: RESULT_BYTES_MAX,
        }
    }

    fn check_input(&self, input: &TaskUpdateInput) -> Result<ToolInspection, InputError> {
        input.check().map(|()| EXCLUSIVE_PURE)
    }

    fn run(&self, input: TaskUpdateInput, call: ToolCallContext) -> TypedToolFuture<'_> {
        Box::pin(async move { update_task(&input, &call) })
    }
}

fn update_task(input: &TaskUpdateInput, call: &ToolCallContext) -> TypedToolResult {
    let number = input.task_number().map_err(|wrong| wrong.to_message("TaskUpdate"))?;
    let changed = call.tool_context.model.update_task_lists(|lists| input.apply(lists))?;
    let text = match changed.as_slice() {
        [] => format!("Nothing of task #{number} was changed."),
        fields if fields == ["deleted"] => format!("Deleted task #{number}."),
        fields => format!("Changed {} of task #{number}.", fields.join(", ")),
    };
    let structured =
        json!({"success": true, "taskId": number.to_string(), "updatedFields": changed});
    Ok(build_outcome(text, &structured))
}

impl TaskUpdateInput {
    fn task_number(&self) -> Result<u64, InputError> {
        parse_task_number("taskId", &self.task_id)
    }

    fn check(&self) -> Result<(), InputError> {
        self.task_number()?;
        let numbers = |field, list: &[String]| {
            list.iter().try_for_each(|it| parse_task_number(field, it).map(drop))
        };
        numbers("addBlocks", &self.add_blocks)?;
        numbers("addBlockedBy", &self.add_blocked_by)?;
        for (field, text) in [("subject", &self.subject), ("description", &self.description)] {
            if text.as_ref().is_some_and(|text| text.chars().count() > TEXT_CHARS_MAX) {
                return Err(InputError::field(field, TOO_LONG));
            }
        }
        Ok(())
    }

    /// Makes the change and returns the changed fields, or changes nothing.
    pub(crate) fn apply(&self, lists: &mut TaskLists) -> Result<Vec<&'static str>, String> {
        let id = self.task_number().map_err(|wrong| wrong.to_message("TaskUpdate"))?;
        if !lists.tasks.contains_key(&id) {
            return Err(explain_unknown_task(id));
        }
        if self.status == Some(TaskUpdateStatus::Deleted) {
            lists.tasks.remove(&id);
            for task in lists.tasks.values_mut() {
                task.blocks.retain(|it| *it != id);
                task.blocked_by.retain(|it| *it != id);
            }
            return Ok(vec!["deleted"]);
        }
        let before = lists.clone();
        let mut changed = self.apply_fields(id, lists);
        let parse = |list: &[String]| -> Vec<u64> {
            list.iter().filter_map(|it| parse_task_number("", it).ok()).collect()
        };
        let blocks = parse(&self.add_blocks);
        let blocked_by = parse(&self.add_blocked_by);
        let edges = blocks.iter().map(|other| (id, *other));
        let edges: Vec<(u64, u64)> =
            edges.chain(blocked_by.iter().map(|other| (*other, id))).collect();
        for (first, then) in edges {
            if let Err(why) = add_dependency(lists, first, then) {
                *lists = before;
                return Err(why);
            }
        }
        changed.extend((!blocks.is_empty()).then_some("blocks"));
        changed.extend((!blocked_by.is_empty()).then_some("blockedBy"));
        Ok(changed)
    }

    fn apply_fields(&self, id: u64, lists: &mut TaskLists) -> Vec<&'static str> {
        let mut changed = Vec::new();
        let Some(task) = lists.tasks.get_mut(&id) else { return changed };
        let status = self.status.map(|status| match status {
            TaskUpdateStatus::Pending | TaskUpdateStatus::Deleted => TaskStatus::Pending,
            TaskUpdateStatus::InProgress => TaskStatus::InProgress,
            TaskUpdateStatus::Completed => TaskStatus::Completed,
        });
        if let Some(status) = status.filter(|status| *status != task.status) {
            task.status = status;
            changed.push("status");
        }
        for (name, new, old) in [
            ("subject", &self.subject, &mut task.subject),
            ("description", &self.description, &mut task.description),
        ] {
            if let Some(new) = new {
                old.clone_from(new);
                changed.push(name);
            }
        }
        for (name, new, old) in [
            ("activeForm", &self.active_form, &mut task.active_form),
            ("owner", &self.owner, &mut task.owner),
        ] {
            if new.is_some() {
                old.clone_from(new);
                changed.push(name);
            }
        }
        for (name, value) in self.metadata.iter().flatten() {
            match value {
                Value::Null => task.metadata.remove(name),
                value => task.metadata.insert(name.clone(), value.clone()),
            };
        }
        changed.extend(self.metadata.is_some().then_some("metadata"));
        changed
    }
}

/// Adds a dependency, unless it would create a cycle.
fn add_dependency(lists: &mut TaskLists, first: u64, then: u64) -> Result<(), String> {
    for id in [first, then] {
        if !lists.tasks.contains_key(&id) {
            return Err(explain_unknown_task(id));
        }
    }
    if depends_on(lists, first, then) {
        return Err(format!("Task #{then} cannot wait for #{first}, which waits for it."));
    }
    let mut add = |id: u64, list: fn(&mut TaskItem) -> &mut Vec<u64>, other: u64| {
        if let Some(list) = lists.tasks.get_mut(&id).map(list)
            && !list.contains(&other)
        {
            list.push(other);
        }
    };
    add(first, |task| &mut task.blocks, then);
    add(then, |task| &mut task.blocked_by, first);
    Ok(())
}

/// Does `id` depend on `other`, directly or indirectly, or is it the same?
fn depends_on(lists: &TaskLists, id: u64, other: u64) -> bool {
    let mut seen = vec![id];
    let mut at = 0;
    while let Some(next) = seen.get(at).copied() {
        if next == other {
            return true;
        }
        for before in lists.tasks.get(&next).map_or(&[][..], |task| &task.blocked_by) {
            if !seen.contains(before) {
                seen.push(*before);
            }
        }
        at += 1;
    }
    false
}
