//! Maps the end of a run to the exit code of the process.
//!
//! Scripts can rely on five codes: 0 success, 1 the run failed, 2 wrong usage and nothing was
//! started, 130 and 143 for the two signals. Details are on standard error and in `terminal_reason`
//! of the JSON result; they have deliberately no codes.

use std::process::ExitCode;

use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{Outcome, Terminal};

/// The exit code of the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exit(u8);

impl Exit {
    /// The run succeeded.
    pub const SUCCESS: Self = Self(0);
    /// The run failed.
    pub const FAILURE: Self = Self(1);
    /// The command line or the prompt is invalid; nothing was started.
    pub const USAGE: Self = Self(2);
    /// The command to rehearse with does not exist.
    pub(crate) const NO_SUCH_COMMAND: Self = Self(127);
    /// 128 + SIGHUP.
    pub(crate) const HUNG_UP: Self = Self(129);
    /// 128 + SIGINT.
    pub const INTERRUPTED: Self = Self(130);
    /// 128 + SIGTERM.
    pub(crate) const TERMINATED: Self = Self(143);

    /// The code for a run that ended by itself. After a signal, the signal's code is used.
    pub fn from_ending(ending: &RunEnding) -> Self {
        match (ending.terminal, ending.outcome) {
            (
                Terminal::Completed,
                Some(Outcome::Natural | Outcome::Compacted | Outcome::ToolDeferred) | None,
            ) => Self::SUCCESS,
            // It ended normally but gave up: a script must not treat that as an answer.
            (
                Terminal::Completed,
                Some(
                    Outcome::Refusal
                    | Outcome::OutputLimitExhausted
                    | Outcome::Empty
                    | Outcome::PausesExhausted
                    | Outcome::NotCompacted
                    | Outcome::Circled
                    | Outcome::StorageFailed,
                ),
            ) => Self::FAILURE,
            (
                Terminal::BlockingLimit
                | Terminal::PromptTooLong
                | Terminal::ImageError
                | Terminal::ModelError
                | Terminal::AbortedStreaming
                | Terminal::AbortedTools
                | Terminal::StopHookPrevented
                | Terminal::HookStopped
                | Terminal::MaxTurns
                | Terminal::MaxBudgetUsd,
                _,
            ) => Self::FAILURE,
        }
    }

    pub fn code(self) -> u8 {
        self.0
    }

    /// The exit code of another program; 128 + n if signal n ended it.
    pub fn from_exit_status(status: std::process::ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
        Self(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.0)
    }
}
