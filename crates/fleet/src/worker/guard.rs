//! `windlass-fleet guard`: runs one session's process and ends it, with everything it started,
//! before the lease of its worker ends.
//!
//! A killed or frozen worker cannot end its tools; this process can. It only waits for three
//! things: a later deadline from the worker, the end of the connection to it, or the end of the
//! session's process. It is a child subreaper, so nothing that the session started can leave its
//! process tree.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
use tokio::signal::unix::{SignalKind, signal};
use windlass_host::command_error::CommandError;
use windlass_host::exit::Exit;

use super::monotonic;
use super::process_tree::{kill_descendants, reap_children};

/// The first line on a guard's connection to its worker.
pub(crate) const GUARD_GREETING: &str = "guard 1\n";

#[derive(Clone, Debug)]
pub struct GuardOptions {
    pub socket: PathBuf,
    pub command: Vec<OsString>,
    /// The command stays in the terminal's process group, and signals are for it alone.
    pub is_foreground: bool,
}

/// Runs a command until it ends, the worker is gone, or the lease is about to end.
pub fn run(options: &GuardOptions) -> Result<Exit, CommandError> {
    let GuardOptions { socket, command, is_foreground } = options;
    let failed = |what: &str, error: std::io::Error| {
        CommandError::failure(format!("guard: {what}: {error}"))
    };
    let Some((program, arguments)) = command.split_first() else {
        return Err(CommandError::usage("guard: no command was given"));
    };
    adopt_orphans().map_err(|error| failed("orphans", error))?;
    let mut stream = UnixStream::connect(socket).map_err(|error| failed("the worker", error))?;
    stream.write_all(GUARD_GREETING.as_bytes()).map_err(|error| failed("the worker", error))?;
    let mut worker = WorkerConnection { reader: BufReader::new(stream), deadline: Duration::ZERO };
    worker.read_deadline(Some(FIRST_DEADLINE_WAIT))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::inherit());
    match is_foreground {
        true => survive_signals().map_err(|error| failed("signals", error))?,
        false => drop(command.process_group(0)),
    }
    let mut child = command.spawn().map_err(|error| failed(&program.to_string_lossy(), error))?;
    let outcome = wait_for_end(&mut child, &mut worker);
    // However it ended, nothing that it started may continue.
    kill_descendants(std::process::id());
    reap_children();
    outcome
}

/// A terminal sends its signals to this process, too. It must outlive the session.
fn survive_signals() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        for kind in [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
            SignalKind::quit(),
        ] {
            // The handler stays when its listener is dropped.
            drop(signal(kind)?);
        }
        Ok(())
    })
}

fn wait_for_end(child: &mut Child, worker: &mut WorkerConnection) -> Result<Exit, CommandError> {
    let lost =
        |why: &str| Err(CommandError::failure(format!("guard: {why}; the session was ended")));
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let ended = pid.and_then(|pid| open_process(pid).ok());
    let Some(ended) = ended else { return lost("the process cannot be watched") };
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Ok(Exit::from_exit_status(status));
        }
        let left = worker.deadline.saturating_sub(monotonic::now());
        if left.is_zero() {
            return lost("the worker's lease was not renewed");
        }
        let is_told = {
            let mut waits = [
                PollFd::new(worker.reader.get_ref(), PollFlags::IN),
                PollFd::from_borrowed_fd(ended.as_fd(), PollFlags::IN),
            ];
            let timeout = Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::from(left.subsec_nanos()),
            };
            match poll(&mut waits, Some(&timeout)) {
                Ok(_) => waits.first().is_some_and(|wait| !wait.revents().is_empty()),
                Err(rustix::io::Errno::INTR) => false,
                Err(_) => return lost("waiting failed"),
            }
        };
        if is_told && worker.read_deadline(None).is_err() {
            return lost("the worker is gone");
        }
    }
}

#[cfg(target_os = "linux")]
fn adopt_orphans() -> std::io::Result<()> {
    // A pid sets the attribute; `None` would clear it.
    let own = rustix::process::getpid();
    Ok(rustix::process::set_child_subreaper(Some(own))?)
}

#[cfg(target_os = "linux")]
fn open_process(pid: Pid) -> std::io::Result<OwnedFd> {
    Ok(rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())?)
}

/// Only Linux lets a process adopt the orphans below it.
#[cfg(not(target_os = "linux"))]
fn adopt_orphans() -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

#[cfg(not(target_os = "linux"))]
fn open_process(_: Pid) -> std::io::Result<OwnedFd> {
    Err(std::io::ErrorKind::Unsupported.into())
}

struct WorkerConnection {
    reader: BufReader<UnixStream>,
    /// When the session must have ended, by the host's clock.
    deadline: Duration,
}

impl WorkerConnection {
    /// Reads the deadline: one line with nanoseconds of the host's clock. It is absolute, so that a
    /// delayed line does not extend the lease.
    fn read_deadline(&mut self, wait: Option<Duration>) -> Result<(), CommandError> {
        let gone = || CommandError::failure("guard: the worker is gone");
        // The worker writes lines whole, so a partial line gets no more time than a whole one.
        let wait = wait.unwrap_or(LINE_WAIT);
        self.reader.get_ref().set_read_timeout(Some(wait)).map_err(|_| gone())?;
        loop {
            let mut line = String::new();
            let read = self.reader.read_line(&mut line).map_err(|_| gone())?;
            let nanos: Option<u64> = line.trim_end().parse().ok();
            let (1.., Some(nanos)) = (read, nanos) else { return Err(gone()) };
            self.deadline = self.deadline.max(Duration::from_nanos(nanos));
            if self.reader.buffer().is_empty() {
                return Ok(());
            }
        }
    }
}

const FIRST_DEADLINE_WAIT: Duration = Duration::from_secs(10);
const LINE_WAIT: Duration = Duration::from_millis(500);
