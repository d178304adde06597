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

    /// How long the run has taken; zero while idle.
    pub fn elapsed(&self, now: Duration) -> Duration {
        match self.state {
            RunState::Idle => Duration::ZERO,
            RunState::Running { started } => now.saturating_sub(started),
        }
    }
}
