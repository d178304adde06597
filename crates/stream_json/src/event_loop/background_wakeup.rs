//! Background tasks: whether any are running, and a prompt for the model when one ends. During a
//! run the model learns of an end anyway; between runs it is woken, also when a task ended too late
//! in a run for another request.

use serde_json::{Value, json};
use windlass_driver::BackgroundTask;

use super::EventLoop;
use crate::frame::PromptFrame;

impl EventLoop {
    fn list_background_tasks(&self) -> Vec<BackgroundTask> {
        self.session.live().map(|live| live.session.background_tasks()).unwrap_or_default()
    }

    pub(super) fn has_running_agents(&self) -> bool {
        self.list_background_tasks().iter().any(|task| task.is_agent && task.end_summary.is_none())
    }

    /// How many have ended; `None` if none is running, so that there is no end to wait for.
    pub(super) fn count_ended_tasks(&self) -> Option<usize> {
        let all = self.list_background_tasks();
        let ended = all.iter().filter(|task| task.end_summary.is_some()).count();
        (ended < all.len()).then_some(ended)
    }

    /// Queues a prompt for each task whose end the model does not know. Commands are not waited for
    /// after the end of input, so their ends are not reported then.
    pub(super) fn queue_task_notifications(&mut self) {
        if self.turn.is_some() || self.signals.caught.is_some() {
            return;
        }
        for task in self.list_background_tasks() {
            let is_owed = task.end_summary.is_some() && !task.is_end_reported;
            if is_owed
                && (task.is_agent || !self.input.is_over)
                && self.prompts.notified_tasks.insert(task.id.clone())
            {
                self.prompts.waiting.push_back(build_task_notification(&task));
            }
        }
    }
}

fn build_task_notification(task: &BackgroundTask) -> PromptFrame {
    let BackgroundTask { id, command, .. } = task;
    let kind = if task.is_agent { "agent" } else { "command" };
    let mut prompt = PromptFrame { client_composed: true, ..PromptFrame::default() };
    prompt.message.content =
        Value::from(format!("The background {kind} `{id}` ({command}) has ended."));
    prompt.origin = Some(json!({ "kind": "task-notification" }));
    prompt
}
