//! State of the model in a session: its task lists, and the tools it has found.

use std::collections::BTreeSet;
use std::sync::Mutex;

use windlass_vocabulary::ToolName;

use crate::lock::lock;
use crate::task_lists::TaskLists;

/// The model's lists and the tools announced to it.
#[derive(Debug, Default)]
pub struct ModelState {
    task_lists: Mutex<TaskLists>,
    announced_tools: Mutex<BTreeSet<ToolName>>,
}

impl ModelState {
    /// The task lists, to be kept through a compaction or stored in the journal.
    #[must_use]
    pub fn task_lists(&self) -> TaskLists {
        lock(&self.task_lists).clone()
    }

    /// Restores stored lists, for a resumed session.
    pub fn restore_task_lists(&self, lists: TaskLists) {
        *lock(&self.task_lists) = lists;
    }

    pub(crate) fn update_task_lists<T>(&self, change: impl FnOnce(&mut TaskLists) -> T) -> T {
        change(&mut lock(&self.task_lists))
    }

    /// Returns whether the tool was not announced before.
    pub(crate) fn mark_tool_announced(&self, tool: &ToolName) -> bool {
        lock(&self.announced_tools).insert(tool.clone())
    }
}
