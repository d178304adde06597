//! When the line of the user's own below everything is asked for again: after something happened, one at
//! a time, and not more often than a person could read. Nothing waits for it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Conversation;
use super::told::Told;

/// What a line of status may be about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The model that is asked.
    pub model: String,
    /// What the session cost, in micro-dollars.
    pub cost: u64,
    /// Tokens of the last request.
    pub tokens: u64,
    /// Tokens the model can see.
    pub window: u64,
    /// Time since the session began.
    pub elapsed: Duration,
}

/// When to ask.
#[derive(Debug)]
pub(super) struct StatusClock {
    is_due: bool,
    is_asked: bool,
    last: Option<Instant>,
}

impl Default for StatusClock {
    /// The first is asked for at once.
    fn default() -> Self {
        Self { is_due: true, is_asked: false, last: None }
    }
}

impl StatusClock {
    /// Something happened that the line may be about.
    pub(super) fn stir(&mut self) {
        self.is_due = true;
    }

    /// When to ask for it; never, while nothing happens or somebody is asked.
    pub(super) fn next(&self) -> Option<Instant> {
        let soon = || self.last.map_or_else(Instant::now, |last| last + SPAN);
        (self.is_due && !self.is_asked).then(soon)
    }

    fn ask(&mut self) {
        *self = Self { is_due: false, is_asked: true, last: Some(Instant::now()) };
    }

    /// It was answered.
    pub(super) fn answered(&mut self) {
        self.is_asked = false;
    }
}

impl Conversation {
    /// Asks for the line, if somebody makes one.
    pub(super) fn ask_status(&mut self) {
        let facts = Facts {
            model: self.app.about.model.clone(),
            cost: self.app.cost,
            tokens: self.app.tokens,
            window: self.app.about.window,
            elapsed: self.began.elapsed(),
        };
        self.status.ask();
        let Some(asking) = Arc::clone(&self.host).status(facts) else {
            self.app.status_line = None;
            self.status.answered();
            return;
        };
        let tell = self.tell.clone();
        self.session_side.spawn(async move {
            let _ = tell.send(Told::Status(asking.await)).await;
        });
    }
}

/// The shortest time between two questions.
const SPAN: Duration = Duration::from_millis(300);
