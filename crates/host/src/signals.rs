//! Listens for signals that end a run. The caller decides how to react.
//!
//! SIGHUP is handled only if it was not ignored at the start, so that `nohup` works. Where that
//! cannot be checked, it is handled only at a terminal.
//!
//! A second signal always ends the process within a second: a separate thread does that, because
//! the listening thread may be blocked by a reader that does not read.

use std::future::Future;
use std::io::{self, IsTerminal};
use std::sync::Once;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use tokio::time::Instant;

use crate::command_error::CommandError;
use crate::exit::Exit;
use crate::words;

/// While it exists, the signals do not end the process by themselves.
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
    /// Starts listening. Needs a runtime.
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
        begin()
            .map_err(|error: io::Error| CommandError::failure(words::describe_no_signals(&error)))
    }

    /// The next signal. Cancel-safe.
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

    /// Have several signals arrived, so that nothing should be waited for?
    pub fn is_urgent(&self) -> bool {
        self.caught > 1
    }
}

/// Makes a write beyond the file size limit (`ulimit -f`) fail like on a full disk, instead of
/// ending the process. Child processes get the default behaviour.
pub fn survive_file_size_limit() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    if let Ok(runtime) = runtime {
        let _context = runtime.enter();
        // The handler stays installed when the listener is dropped. Without a handler, the signal
        // ends the process.
        let _ = signal(SignalKind::from_raw(SIGXFSZ));
    }
}

/// The number is the same on all supported systems.
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
        // If it cannot be started, only the event loop handles signals.
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
    // Gives the event loop time to end what it started.
    tokio::time::sleep(SECOND_SIGNAL_GRACE).await;
    let code = i32::from(last.exit().code());
    // Exiting flushes standard output, which may block, so do it on another thread.
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

/// Waits for a future, unless a signal arrives first.
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

/// Runs work that may block on files, pipes and other programs, unless a signal arrives first. The
/// work is then abandoned; the process ends with everything it started.
pub async fn run_blocking_unless_signalled<T: Send + 'static>(
    signals: &mut SignalListener,
    work: impl FnOnce() -> Result<T, CommandError> + Send + 'static,
) -> Result<Result<T, ExitSignal>, CommandError> {
    match await_unless_signalled(signals, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(done)) => done.map(Ok),
        Ok(Err(broken)) => Err(CommandError::failure(words::describe_bug(&broken))),
        Err(signal) => Ok(Err(signal)),
    }
}

/// Waits forever for `None`.
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
    // The lowest bit is signal 1, SIGHUP.
    ignored.is_none_or(|mask| mask & 1 == 0)
}
