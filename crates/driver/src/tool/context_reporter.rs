//! Reports what a call changed for the following ones, taken from the tool context: files read, the
//! shell's directory, the task lists. Sent only when it has changed.

use std::sync::{Arc, Mutex, PoisonError};

use windlass_tool::{TaskLists, ToolSessionContext};
use windlass_vocabulary::ToolOutcome;

/// Limit on the files reported with one outcome.
const FILES_MAX: usize = 5;

#[derive(Debug, Default)]
pub(crate) struct ContextReporter {
    last: Mutex<ReportedContext>,
}

#[derive(Debug, Default)]
struct ReportedContext {
    files: Vec<Arc<str>>,
    directory: Option<Arc<str>>,
    tasks: Option<Arc<str>>,
}

impl ContextReporter {
    /// These lists are already known, from an earlier process or before a rewind.
    pub(crate) fn with_task_lists(lists: &TaskLists) -> Self {
        let tasks = lists.render().map(Arc::from);
        Self { last: Mutex::new(ReportedContext { tasks, ..ReportedContext::default() }) }
    }

    /// Adds the changes to the outcome of a call.
    pub(crate) fn append_changes(
        &self,
        tool_context: &ToolSessionContext,
        outcome: &mut ToolOutcome,
    ) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let in_hand = tool_context.files.recent_files();
        let files: Vec<Arc<str>> = in_hand
            .iter()
            .take(FILES_MAX)
            .rev()
            .map(|path| Arc::from(path.to_string_lossy()))
            .collect();
        if files != last.files {
            last.files.clone_from(&files);
            outcome.files.extend(files);
        }
        let shell = tool_context.shell.directory();
        let is_moved = last.directory.is_some() || shell != tool_context.files.cwd;
        let directory: Arc<str> = Arc::from(shell.to_string_lossy());
        if is_moved && last.directory.as_ref() != Some(&directory) {
            last.directory = Some(directory.clone());
            outcome.update.get_or_insert_default().working_directory = Some(directory);
        }
        let tasks: Option<Arc<str>> = tool_context.model.task_lists().render().map(Arc::from);
        if tasks != last.tasks {
            last.tasks.clone_from(&tasks);
            let update = outcome.update.get_or_insert_default();
            update.tasks = Some(tasks.unwrap_or_else(|| Arc::from("")));
        }
    }
}
