//! Work that goes on by itself beside the conversation: whether there is some, and that the model is
//! told of its end. A run that goes on hears of an end by itself; the others are woken for it, also
//! when something ended so late in a run that nothing was asked any more.

use serde_json::{Value, json};
use windlass_driver::BackgroundTask;

use super::Desk;
use crate::front::stream_json::frame::Prompt;

impl Desk {
    /// Everything in the background of the session.
    fn background(&self) -> Vec<BackgroundTask> {
        self.stage.as_ref().map(|stage| stage.session.background()).unwrap_or_default()
    }

    /// Does an agent go on by itself?
    pub(super) fn are_agents_left(&self) -> bool {
        self.background().iter().any(|task| task.is_agent && task.ended.is_none())
    }

    /// How many have ended, while others still run: what is worth waiting for.
    pub(super) fn ended_so_far(&self) -> Option<usize> {
        let all = self.background();
        let ended = all.iter().filter(|task| task.ended.is_some()).count();
        (ended < all.len()).then_some(ended)
    }

    /// Wakes the model for what has ended without its knowing. Commands are not waited for once nobody
    /// is there any more, so their ends wake nobody then.
    pub(super) fn wake_for_ended(&mut self) {
        if self.turn.is_some() || self.caught.is_some() {
            return;
        }
        for task in self.background() {
            let is_owed = task.ended.is_some() && !task.is_told;
            if is_owed
                && (task.is_agent || !self.is_input_over)
                && self.woken.insert(task.id.clone())
            {
                self.queue.push_back(wake(&task));
            }
        }
    }
}

/// What the model is told when something that went on by itself has ended.
fn wake(task: &BackgroundTask) -> Prompt {
    let BackgroundTask { id, command, .. } = task;
    let kind = if task.is_agent { "agent" } else { "command" };
    let mut prompt = Prompt { client_composed: true, ..Prompt::default() };
    prompt.message.content =
        Value::from(format!("The background {kind} `{id}` ({command}) has ended."));
    prompt.origin = Some(json!({ "kind": "task-notification" }));
    prompt
}
