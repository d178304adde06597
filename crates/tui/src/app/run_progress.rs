//! The run under way: since when, in which turn, and which calls it has started.

use std::time::Duration;

use super::RunningCall;

#[derive(Debug, Default)]
pub struct RunProgress {
    pub state: RunState,
    /// Kept between runs: the first request of a run says which turn it is.
    pub turn: u32,
    /// Why nothing happens at the moment, while a request waits to be repeated.
    pub retry_message: Option<String>,
    pub calls: Vec<RunningCall>,
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

    /// How long the run has taken; zero while idle.
    pub fn elapsed(&self, now: Duration) -> Duration {
        match self.state {
            RunState::Idle => Duration::ZERO,
            RunState::Running { started } => now.saturating_sub(started),
        }
    }
}
