//! `/tasks`: commands and agents in the background. Enter stops one.

use windlass_driver::BackgroundTask;

use super::super::prompt_handler::PromptHandler;
use super::super::words;
use super::build_item;
use crate::{Picker, PickerItem, PromptAction};
use windlass_host::command_error::{CommandError, to_single_line};

impl PromptHandler {
    /// Running tasks first, then those that ended, the newest first.
    pub(super) fn build_task_picker(&self) -> Picker {
        let tasks = self.session.background_tasks();
        let (running, ended): (Vec<BackgroundTask>, Vec<BackgroundTask>) =
            tasks.into_iter().partition(|task| task.end_summary.is_none());
        let mut items: Vec<PickerItem> = running.iter().map(build_task_item).collect();
        items.extend(ended.iter().rev().map(build_task_item));
        if items.is_empty() {
            items.push(build_item("", words::NO_TASKS, words::NO_TASKS_NOTE));
        }
        Picker::new(words::TITLE_TASKS, items)
    }

    pub(super) async fn stop_task(&self, id: &str) -> Result<PromptAction, CommandError> {
        self.session.stop_background_task(id).await.map_err(CommandError::failure)?;
        let more = Some(self.build_task_picker());
        Ok(PromptAction::ShowResult(words::describe_stopped_task(id), more))
    }
}

fn build_task_item(task: &BackgroundTask) -> PickerItem {
    let (value, state) = match &task.end_summary {
        None => (format!("/tasks stop {}", task.id), words::TASK_RUNNING.to_owned()),
        Some(end) => (String::new(), to_single_line(end)),
    };
    build_item(value, to_single_line(&task.command), format!("{} · {state}", task.id))
}
