//! When the line of the user's own below everything is asked for again: after something happened, one at
//! a time, and not more often than a person could read. Nothing waits for it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::TuiEventLoop;
use super::task_outcome::TuiTaskOutcome;
use crate::host::StatusLineFacts;

/// When to ask.
#[derive(Debug)]
pub(super) struct StatusSchedule {
    is_due: bool,
    is_requested: bool,
    last: Option<Instant>,
}

impl Default for StatusSchedule {
    /// The first is asked for at once.
    fn default() -> Self {
        Self { is_due: true, is_requested: false, last: None }
    }
}

impl StatusSchedule {
    /// Something happened that the line may be about.
    pub(super) fn mark_due(&mut self) {
        self.is_due = true;
    }

    /// When to ask for it; never, while nothing happens or somebody is asked.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let soon = || self.last.map_or_else(Instant::now, |last| last + STATUS_INTERVAL);
        (self.is_due && !self.is_requested).then(soon)
    }

    fn mark_requested(&mut self) {
        *self = Self { is_due: false, is_requested: true, last: Some(Instant::now()) };
    }

    /// It was answered.
    pub(super) fn mark_answered(&mut self) {
        self.is_requested = false;
    }
}

impl TuiEventLoop {
    /// Asks for the line, if somebody makes one.
    pub(super) fn request_status(&mut self) {
        let facts = StatusLineFacts {
            model: self.app.session.facts.model.clone(),
            cost: self.app.usage.cost,
            context_tokens: self.app.usage.context_tokens,
            context_window: self.app.session.facts.context_window,
            elapsed: self.started.elapsed(),
        };
        self.status.mark_requested();
        let Some(asking) = Arc::clone(&self.host).request_status_line(facts) else {
            self.app.session.status_line = None;
            self.status.mark_answered();
            return;
        };
        let tell = self.outcome_sender.clone();
        self.session_runtime.spawn(async move {
            let _ = tell.send(TuiTaskOutcome::StatusLineMade(asking.await)).await;
        });
    }
}

/// The shortest time between two questions.
const STATUS_INTERVAL: Duration = Duration::from_millis(300);
