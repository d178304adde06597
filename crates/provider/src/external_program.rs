//! Runs another program for what it prints, within bounds: a deadline, a cap on what is taken, and
//! an end for everything it started.
//!
//! No shell is involved and no terminal: the program leads a group of its own, which is killed as one
//! when it is late, or when we end before it does ([`kill_all_programs`]). What it prints may be a secret, so
//! nothing here shows or keeps it.

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
    /// What it printed, up to a limit.
    pub stdout: Vec<u8>,
    /// Its standard error, in one short line.
    pub stderr_line: String,
}

#[derive(Debug)]
pub enum ProgramError {
    NotStarted(io::Error),
    /// It took too long, and was ended with everything it had started.
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

/// Runs it to its end. Without input its standard input is empty.
pub fn run_program(
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
        // A program that does not read its input ends the pipe, and the thread with it.
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

/// Reads a pipe to its end on a thread of its own, so that waiting for it can end.
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
            // Once it is waited for, its number may become another's.
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

/// Ends every program that still runs, with its group, and lets no other start: we are going.
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

/// Leaders of groups that have not been waited for.
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

/// Programs that have closed their outputs are about to end.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
const STDOUT_BYTES_MAX: u64 = 64 * 1024;
const STDERR_BYTES_MAX: u64 = 300;
