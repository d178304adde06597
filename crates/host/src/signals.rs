//! The signals that end a run. Says which one came; the caller decides what to do about it.
//!
//! A hang-up is listened to only if it was not ignored when we started, so that `nohup` means what
//! it says. Where that cannot be seen, it is listened to only at a terminal.

use std::future::Future;
use std::io::{self, IsTerminal};

use tokio::signal::unix::{Signal, SignalKind, signal};

use tokio::time::Instant;

use crate::command_error::CommandError;
use crate::exit::Exit;

/// A listener. Once made, the signals no longer end the process by themselves.
#[derive(Debug)]
pub struct SignalListener {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Option<Signal>,
    caught: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitSignal {
    /// Ctrl-C.
    Interrupt,
    Terminate,
    HangUp,
}

impl SignalListener {
    /// Begins to listen. Needs a runtime.
    pub fn listen() -> Result<Self, CommandError> {
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
    pub async fn next(&mut self) -> ExitSignal {
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

    pub fn has_caught(&self) -> bool {
        self.caught > 0
    }

    /// Has more than one come, so that nothing is worth waiting for?
    pub fn is_urgent(&self) -> bool {
        self.caught > 1
    }
}

impl ExitSignal {
    pub fn exit(self) -> Exit {
        match self {
            Self::Interrupt => Exit::INTERRUPTED,
            Self::Terminate => Exit::TERMINATED,
            Self::HangUp => Exit::HUNG_UP,
        }
    }
}

/// Waits for something, unless a signal comes first.
pub async fn await_unless_signalled<T>(
    signals: &mut SignalListener,
    waiting: impl Future<Output = T>,
) -> Result<T, ExitSignal> {
    tokio::select! {
        biased;
        signal = signals.next() => Err(signal),
        value = waiting => Ok(value),
    }
}

/// Does work that may wait for files, pipes and other programs, unless a signal comes first. Then
/// the work is left where it is; the process ends with everything it has started.
pub async fn run_blocking_unless_signalled<T: Send + 'static>(
    signals: &mut SignalListener,
    work: impl FnOnce() -> Result<T, CommandError> + Send + 'static,
) -> Result<Result<T, ExitSignal>, CommandError> {
    match await_unless_signalled(signals, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(done)) => done.map(Ok),
        Ok(Err(broken)) => Err(CommandError::failure(format!("this should not happen: {broken}"))),
        Err(signal) => Ok(Err(signal)),
    }
}

/// Waits for ever on `None`.
pub async fn sleep_until_or_forever(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
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
