//! Runs another program and returns its output, with a deadline and an output limit, and ends
//! everything it started.
//!
//! Without a shell and without a terminal: the program leads a process group, which is killed at
//! the deadline, or when we exit first ([`kill_all_programs`]). The output may be a secret, so
//! nothing here shows or stores it.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use windlass_host::command_error::to_single_line;

pub struct ProgramOutput {
    pub status: ExitStatus,
    /// The output, up to a limit.
    pub stdout: Vec<u8>,
    /// Its standard error, as one short line.
    pub stderr_line: String,
}

#[derive(Debug)]
pub enum ProgramError {
    NotStarted(io::Error),
    /// It took too long and was killed with everything it started.
    TimedOut(Duration),
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotStarted(error) => write!(f, "it cannot be started: {error}"),
            Self::TimedOut(limit) => write!(f, "it takes longer than {} seconds", limit.as_secs()),
        }
    }
}

/// Runs the program. Without input its standard input is empty.
pub(crate) fn run_program(
    program: impl AsRef<OsStr>,
    arguments: &[impl AsRef<OsStr>],
    input: Option<&str>,
    within: Duration,
) -> Result<ProgramOutput, ProgramError> {
    let deadline = Instant::now() + within;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let mut child = spawn_tracked(&mut command).map_err(ProgramError::NotStarted)?;
    if let (Some(mut pipe), Some(input)) = (child.stdin.take(), input.map(str::to_owned)) {
        // A program that does not read its input closes the pipe, which ends the thread.
        thread::spawn(move || pipe.write_all(input.as_bytes()));
    }
    let printed = spawn_pipe_reader(child.stdout.take(), STDOUT_BYTES_MAX);
    let complained = spawn_pipe_reader(child.stderr.take(), STDERR_BYTES_MAX);
    let printed = printed.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    let complained = complained.recv_timeout(deadline.saturating_duration_since(Instant::now()));
    let (Ok(printed), Ok(complaint)) = (printed, complained) else {
        kill_program(&mut child);
        return Err(ProgramError::TimedOut(within));
    };
    let Some(status) = wait_until(&mut child, deadline) else {
        kill_program(&mut child);
        return Err(ProgramError::TimedOut(within));
    };
    Ok(ProgramOutput {
        status,
        stdout: printed,
        stderr_line: to_single_line(&String::from_utf8_lossy(&complaint)),
    })
}

/// Reads a pipe on a separate thread, so that waiting for it can time out.
fn spawn_pipe_reader(
    pipe: Option<impl Read + Send + 'static>,
    most: u64,
) -> mpsc::Receiver<Vec<u8>> {
    let (done, over) = mpsc::channel();
    if let Some(pipe) = pipe {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.take(most).read_to_end(&mut bytes);
            let _ = done.send(bytes);
        });
    }
    over
}

fn wait_until(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    loop {
        {
            // After it is reaped, its id may be reused.
            let mut groups = lock_process_groups();
            if let Ok(Some(status)) = child.try_wait() {
                groups.forget(child);
                return Some(status);
            }
        }
        if Instant::now() >= deadline {
            return None;
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn kill_program(child: &mut Child) {
    let mut groups = lock_process_groups();
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    let _ = child.wait();
    groups.forget(child);
}

/// Kills every running program with its group, and prevents new ones: the process is about to exit.
pub fn kill_all_programs() {
    let mut groups = lock_process_groups();
    groups.is_shutting_down = true;
    for leader in groups.leaders.drain(..) {
        let _ = kill_process_group(leader, Signal::KILL);
    }
}

fn spawn_tracked(command: &mut Command) -> io::Result<Child> {
    let mut groups = lock_process_groups();
    if groups.is_shutting_down {
        return Err(io::ErrorKind::Interrupted.into());
    }
    let child = command.spawn()?;
    groups.leaders.push(Pid::from_child(&child));
    Ok(child)
}

/// Group leaders that are not reaped yet.
struct ProcessGroups {
    leaders: Vec<Pid>,
    is_shutting_down: bool,
}

impl ProcessGroups {
    fn forget(&mut self, child: &Child) {
        self.leaders.retain(|leader| *leader != Pid::from_child(child));
    }
}

fn lock_process_groups() -> MutexGuard<'static, ProcessGroups> {
    PROCESS_GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

static PROCESS_GROUPS: Mutex<ProcessGroups> =
    Mutex::new(ProcessGroups { leaders: Vec::new(), is_shutting_down: false });

/// For programs that have closed their outputs and are about to exit.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
const STDOUT_BYTES_MAX: u64 = 64 * 1024;
const STDERR_BYTES_MAX: u64 = 300;
