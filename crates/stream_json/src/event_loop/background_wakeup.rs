//! Work that goes on by itself beside the conversation: whether there is some, and that the model is
//! told of its end. A run that goes on hears of an end by itself; the others are woken for it, also
//! when something ended so late in a run that nothing was asked any more.

use serde_json::{Value, json};
use windlass_driver::BackgroundTask;

use super::EventLoop;
use crate::frame::PromptFrame;

impl EventLoop {
    /// Everything in the background of the session.
    fn list_background_tasks(&self) -> Vec<BackgroundTask> {
        self.session.live().map(|live| live.session.background_tasks()).unwrap_or_default()
    }

    /// Does an agent go on by itself?
    pub(super) fn has_running_agents(&self) -> bool {
        self.list_background_tasks().iter().any(|task| task.is_agent && task.end_summary.is_none())
    }

    /// How many have ended, while others still run: what is worth waiting for.
    pub(super) fn count_ended_tasks(&self) -> Option<usize> {
        let all = self.list_background_tasks();
        let ended = all.iter().filter(|task| task.end_summary.is_some()).count();
        (ended < all.len()).then_some(ended)
    }

    /// Wakes the model for what has ended without its knowing. Commands are not waited for once nobody
    /// is there any more, so their ends wake nobody then.
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

/// What the model is told when something that went on by itself has ended.
fn build_task_notification(task: &BackgroundTask) -> PromptFrame {
    let BackgroundTask { id, command, .. } = task;
    let kind = if task.is_agent { "agent" } else { "command" };
    let mut prompt = PromptFrame { client_composed: true, ..PromptFrame::default() };
    prompt.message.content =
        Value::from(format!("The background {kind} `{id}` ({command}) has ended."));
    prompt.origin = Some(json!({ "kind": "task-notification" }));
    prompt
}
