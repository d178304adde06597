//! The run under way: since when, in which turn, and which calls it has started.

use std::time::Duration;

use windlass_vocabulary::ToolCallId;

use super::RunningCall;

#[derive(Debug, Default)]
pub struct RunProgress {
    pub state: RunState,
    /// Kept between runs: the first request of a run says which turn it is.
    pub turn: u32,
    pub retry: RetryProgress,
    pub calls: Vec<RunningCall>,
    /// How long the run has waited for answers of the user, and since when it does again.
    waited: Duration,
    waits_since: Option<Duration>,
    /// Calls that have ended and whose changes are on the screen.
    pub shown_changes: Vec<ToolCallId>,
}

/// Attempts of this run that failed and were made again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetryProgress {
    pub count: u32,
    /// Why the last one failed.
    pub failure: String,
    /// When the next one follows, as it is shown while it is waited for.
    pub waiting: String,
    pub is_waiting: bool,
}

impl RetryProgress {
    pub fn schedule(&mut self, failure: String, waiting: String) {
        self.count += 1;
        self.failure = failure;
        self.waiting = waiting;
        self.is_waiting = true;
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunState {
    #[default]
    Idle,
    Running {
        /// Measured like `App::now`.
        started: Duration,
    },
}

impl RunProgress {
    pub fn is_busy(&self) -> bool {
        matches!(self.state, RunState::Running { .. })
    }

    /// Is there something that Ctrl-B would move?
    pub fn has_movable_call(&self) -> bool {
        self.calls.iter().any(|running| ["Bash", "Agent"].contains(&running.call.name.as_str()))
    }

    pub fn start(&mut self, now: Duration) {
        self.shown_changes.clear();
        self.state = RunState::Running { started: now };
        self.waited = Duration::ZERO;
        self.waits_since = None;
    }

    /// Call this after everything that may open or answer a question.
    pub fn count_wait(&mut self, is_asking: bool, now: Duration) {
        match (is_asking, self.waits_since) {
            (true, None) => self.waits_since = Some(now),
            (false, Some(since)) => {
                self.waited += now.saturating_sub(since);
                self.waits_since = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// How long the run has taken, without the time in which the user was asked; zero while idle.
    pub fn elapsed(&self, now: Duration) -> Duration {
        let now = self.waits_since.unwrap_or(now);
        match self.state {
            RunState::Idle => Duration::ZERO,
            RunState::Running { started } => now.saturating_sub(started + self.waited),
        }
    }
}
