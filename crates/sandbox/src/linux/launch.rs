//! One command on its way: started by the caller, bounded and ended here.
//!
//! The caller keeps its own pipes, process group and deadline; it gives a function that starts a
//! prepared `Command` in whatever way it likes. Descriptors that the launcher needs are inheritable
//! only while that function runs, and only one command is started at a time, so that none of them
//! reaches another sandbox. After the end, [`Launch::settle`] waits until nothing of it runs.

use std::ffi::OsString;
use std::io::{self, Seek as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::io::FdFlags;
use rustix::pipe::PipeFlags;

use super::attend::{self, Ends, First};
use super::cgroup::Cgroup;
use super::watch::{TakenBack, Watched};
use crate::plan::Limits;

/// How long what was killed may take to be gone.
const GONE: Duration = Duration::from_secs(5);

/// How the launcher is started.
#[derive(Debug)]
pub(super) enum Start {
    /// Bubblewrap, with these programs for the kernel.
    Bubblewrap { programs: Vec<Vec<u8>> },
    /// Our own entry, which restricts itself.
    Entry,
}

/// A command that is ready to be started, and then to be settled.
#[derive(Debug)]
pub struct Launch {
    pub(super) start: Start,
    pub(super) program: PathBuf,
    /// Before the descriptors, and after them.
    pub(super) arguments: (Vec<OsString>, Vec<OsString>),
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) directory: PathBuf,
    pub(super) limits: Limits,
    pub(super) cgroup: Arc<Cgroup>,
    pub(super) watched: Vec<Arc<Watched>>,
    /// Made for this command alone.
    pub(super) scratch: Option<PathBuf>,
    pub(super) standing_by: StandingBy,
}

/// What is left to wait for.
#[derive(Debug, Default)]
pub(super) enum StandingBy {
    #[default]
    Nothing,
    /// For the first process of a namespace.
    Attendant(JoinHandle<First>),
    /// For the end of everybody who holds the other end of a pipe.
    Pipe(OwnedFd),
}

/// What came of a command besides its own result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Protected files that it made or changed, and that are no longer where they were.
    pub taken_back: Vec<TakenBack>,
    /// Why the sandbox did not let it start, when it was not the launcher that said so.
    pub problem: Option<String>,
}

/// Descriptors are inheritable for one start at a time.
static TURN: Mutex<()> = Mutex::new(());

impl Launch {
    /// Starts it: `start` is given a command with program, arguments, environment and directory
    /// set, adds its own pipes and process group, and spawns it.
    ///
    /// The thread that calls this must outlive the command: the kernel ends it with that thread.
    ///
    /// # Errors
    ///
    /// Whatever `start` returns, or what went wrong in making the pipes.
    pub fn spawn<T>(&mut self, start: impl FnOnce(Command) -> io::Result<T>) -> io::Result<T> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments.0).env_clear().current_dir(&self.directory);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        match &self.start {
            Start::Bubblewrap { programs } => {
                let (from, said) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
                let (leave, to) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
                let mut theirs = vec![("--info-fd", said), ("--block-fd", leave)];
                for program in programs {
                    theirs.push(("--add-seccomp-fd", sealed(program)?));
                }
                for (option, descriptor) in &theirs {
                    command.arg(option).arg(descriptor.as_raw_fd().to_string());
                    rustix::io::fcntl_setfd(descriptor, FdFlags::empty())?;
                }
                let started = start(with(command, &self.arguments.1))?;
                drop(theirs);
                let (limits, cgroup) = (self.limits, Arc::clone(&self.cgroup));
                let attendant = std::thread::Builder::new()
                    .name("sandbox start".into())
                    .spawn(move || attend::attend(Ends { from, to }, &limits, &cgroup))?;
                self.standing_by = StandingBy::Attendant(attendant);
                Ok(started)
            }
            Start::Entry => {
                let (ours, theirs) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
                rustix::io::fcntl_setfd(&theirs, FdFlags::empty())?;
                let started = start(with(command, &self.arguments.1))?;
                self.standing_by = StandingBy::Pipe(ours);
                Ok(started)
            }
        }
    }

    /// Ends whatever is left of it, waits until that is gone, and takes back what it did to
    /// protected files. Blocks for at most a few seconds, usually for none.
    #[must_use]
    pub fn settle(mut self) -> Settled {
        self.finish()
    }

    fn finish(&mut self) -> Settled {
        let mut problem = None;
        match std::mem::take(&mut self.standing_by) {
            StandingBy::Nothing => {}
            StandingBy::Attendant(attendant) => {
                if let Ok(first) = attendant.join() {
                    problem = first.problem;
                    let is_gone = first.process.is_none_or(|process| attend::end(&process, GONE));
                    if !is_gone {
                        problem = Some("a process of the command could not be ended".into());
                    }
                }
            }
            StandingBy::Pipe(pipe) => {
                if !drain(&pipe, Instant::now() + GONE) {
                    problem = Some("a process of the command could not be ended".into());
                }
            }
        }
        let taken_back = self.watched.drain(..).flat_map(|watched| watched.settle()).collect();
        if let Some(scratch) = self.scratch.take() {
            let _ = std::fs::remove_dir_all(scratch);
        }
        Settled { taken_back, problem }
    }
}

impl Drop for Launch {
    fn drop(&mut self) {
        self.finish();
    }
}

fn with(mut command: Command, arguments: &[OsString]) -> Command {
    command.args(arguments);
    command
}

/// A program in a file that nobody can change.
fn sealed(program: &[u8]) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = std::fs::File::from(rustix::fs::memfd_create("rules", flags)?);
    file.write_all(program)?;
    file.rewind()?;
    let seals = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    Ok(file.into())
}

/// Reads, and forgets, until every other end is closed.
fn drain(pipe: &OwnedFd, deadline: Instant) -> bool {
    let mut chunk = [0; 512];
    while attend::is_ready(pipe, deadline) {
        match rustix::io::read(pipe, &mut chunk) {
            Ok(0) => return true,
            Ok(_) if Instant::now() < deadline => {}
            _ => return false,
        }
    }
    false
}
