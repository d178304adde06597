//! When the user's own status line is requested again: after something happened, one request at a
//! time, and not more often than a person could read. Nothing waits for it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::TuiEventLoop;
use super::task_outcome::TuiTaskOutcome;
use crate::host::StatusLineFacts;

#[derive(Debug)]
pub(super) struct StatusSchedule {
    is_due: bool,
    is_requested: bool,
    last: Option<Instant>,
}

impl Default for StatusSchedule {
    /// The first request is due at once.
    fn default() -> Self {
        Self { is_due: true, is_requested: false, last: None }
    }
}

impl StatusSchedule {
    /// Something happened that the line may show.
    pub(super) fn mark_due(&mut self) {
        self.is_due = true;
    }

    /// `None` while nothing happened or a request is under way.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let soon = || self.last.map_or_else(Instant::now, |last| last + STATUS_INTERVAL);
        (self.is_due && !self.is_requested).then(soon)
    }

    fn mark_requested(&mut self) {
        *self = Self { is_due: false, is_requested: true, last: Some(Instant::now()) };
    }

    pub(super) fn mark_answered(&mut self) {
        self.is_requested = false;
    }
}

impl TuiEventLoop {
    pub(super) fn request_status(&mut self) {
        let facts = StatusLineFacts {
            model: self.app.session.facts.model.clone(),
            cost: self.app.usage.cost,
            context_tokens: self.app.usage.context_tokens,
            context_window: self.app.session.facts.context_window,
            elapsed: self.started.elapsed(),
        };
        self.status.mark_requested();
        let Some(line) = Arc::clone(&self.host).request_status_line(facts) else {
            self.app.session.status_line = None;
            self.status.mark_answered();
            return;
        };
        let outcome_sender = self.outcome_sender.clone();
        self.session_runtime.spawn(async move {
            let _ = outcome_sender.send(TuiTaskOutcome::StatusLineMade(line.await)).await;
        });
    }
}

/// The shortest time between two requests.
const STATUS_INTERVAL: Duration = Duration::from_millis(300);
