//! The signals that end a run. Says which one came; the caller decides what to do about it.
//!
//! A hang-up is listened to only if it was not ignored when we started, so that `nohup` means what
//! it says. Where that cannot be seen, it is listened to only at a terminal.
//!
//! Whatever the rest of the process waits for, a second signal ends it within a second: a thread of its
//! own sees to that, because the thread that listens may be blocked by a reader that does not read.

use std::future::Future;
use std::io::{self, IsTerminal};
use std::sync::Once;
use std::time::Duration;

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
        end_on_second_signal();
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

/// A file that may not grow further (`ulimit -f`) is a full disk, not the end of the process: the write
/// fails with an error that is handled. Programs that we start get the default back.
pub fn survive_file_size_limit() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    if let Ok(runtime) = runtime {
        let _context = runtime.enter();
        // The handler stays when the listener is dropped. Without one, the write ends the process as it
        // always did.
        let _ = signal(SignalKind::from_raw(SIGXFSZ));
    }
}

/// The number is the same on every system we run on.
const SIGXFSZ: i32 = 25;

/// Starts the thread that ends the process after a second signal, once.
fn end_on_second_signal() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let watch = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            if let Ok(runtime) = runtime {
                runtime.block_on(end_after_two_signals());
            }
        };
        // Without a thread the event loop is the only one that sees to it.
        let _ = std::thread::Builder::new().name("signals".to_owned()).spawn(watch);
    });
}

async fn end_after_two_signals() {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return;
    };
    let mut last = ExitSignal::Interrupt;
    for _ in 0..2 {
        last = tokio::select! {
            _ = interrupt.recv() => ExitSignal::Interrupt,
            _ = terminate.recv() => ExitSignal::Terminate,
        };
    }
    // The event loop gets a moment to end what it started.
    tokio::time::sleep(SECOND_SIGNAL_GRACE).await;
    let code = i32::from(last.exit().code());
    // Ending the process flushes standard output, which may be what is blocked.
    std::thread::spawn(move || std::process::exit(code));
    tokio::time::sleep(EXIT_GRACE).await;
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
}

const SECOND_SIGNAL_GRACE: Duration = Duration::from_millis(700);
const EXIT_GRACE: Duration = Duration::from_millis(150);

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
