//! The signals that end a run. Says which one came; what to do about it is for whoever listens.
//!
//! A hang-up is listened to only if it was not ignored when we started, so that `nohup` means what
//! it says. Where that cannot be seen, it is listened to only at a terminal.

use std::io::{self, IsTerminal};

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::command_error::CommandError;
use crate::exit::Exit;

/// A listener. Once made, the signals no longer end the process by themselves.
#[derive(Debug)]
pub(crate) struct SignalListener {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Option<Signal>,
    caught: u32,
}

/// A signal that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitSignal {
    /// Ctrl-C.
    Interrupt,
    /// Somebody wants the process gone.
    Terminate,
    /// The terminal is gone.
    HangUp,
}

impl SignalListener {
    /// Begins to listen. Needs a runtime.
    pub(crate) fn listen() -> Result<Self, CommandError> {
        let begin = || {
            let hang_up =
                should_catch_hang_up().then(|| signal(SignalKind::hangup())).transpose()?;
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
                hang_up,
                caught: 0,
            })
        };
        begin().map_err(|error: io::Error| {
            CommandError::failure(format!("signals cannot be caught: {error}; close some programs"))
        })
    }

    /// The next signal. Dropping the future loses none.
    pub(crate) async fn next(&mut self) -> ExitSignal {
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        let caught = tokio::select! {
            _ = self.interrupt.recv() => ExitSignal::Interrupt,
            _ = self.terminate.recv() => ExitSignal::Terminate,
            _ = hang_up => ExitSignal::HangUp,
        };
        self.caught += 1;
        caught
    }

    /// Has somebody asked us to end?
    pub(crate) fn has_caught(&self) -> bool {
        self.caught > 0
    }

    /// Has somebody asked more than once, so that nothing is worth waiting for?
    pub(crate) fn is_urgent(&self) -> bool {
        self.caught > 1
    }
}

impl ExitSignal {
    /// What the process exits with because of it.
    pub(crate) fn exit(self) -> Exit {
        match self {
            Self::Interrupt => Exit::INTERRUPTED,
            Self::Terminate => Exit::TERMINATED,
            Self::HangUp => Exit::HUNG_UP,
        }
    }
}

fn should_catch_hang_up() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return io::stdout().is_terminal() || io::stderr().is_terminal();
    };
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The lowest bit stands for signal 1, which is the hang-up.
    ignored.is_none_or(|mask| mask & 1 == 0)
}
