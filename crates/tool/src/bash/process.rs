//! One child process from start to end: its pipes, its deadline, its whole group.
//!
//! Returns when the main process has exited and its pipes are drained or 250 ms have passed, never
//! waiting for an end of file that a grandchild holds back. Past the deadline, on cancel, or when
//! it writes without end, the group is asked to end and killed two seconds later.

use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Child;
use tokio::time::{Instant, Sleep};

use super::Shell;
use super::group::Group;
use crate::output::{Ends, Room, Spill, Spilled};
use crate::surroundings::Surroundings;
use crate::tool::Job;

const DRAIN: Duration = Duration::from_millis(250);
const GRACE: Duration = Duration::from_secs(2);
const AFTER_KILL: Duration = Duration::from_millis(500);
const LOOK_AGAIN: Duration = Duration::from_millis(10);
const PROGRESS_EVERY: Duration = Duration::from_secs(1);
const CHUNK: usize = 32 * 1024;

/// What to run.
pub(super) struct Command<'a> {
    pub(super) shell: &'a Shell,
    pub(super) script: &'a str,
    pub(super) directory: &'a Path,
    pub(super) limit: Duration,
}

/// How it came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Itself,
    Deadline,
    Cancel,
    Flood,
}

/// What is left of a process.
#[derive(Debug)]
pub(super) struct Ended {
    /// `None` when it could not even be killed in time.
    pub(super) status: Option<ExitStatus>,
    pub(super) cause: Cause,
    pub(super) stdout: Ends,
    pub(super) stderr: Ends,
    pub(super) spilled: Spilled,
    /// Other processes of its group were still there and were killed.
    pub(super) left_over: bool,
}

pub(super) async fn run(command: Command<'_>, job: &Job) -> io::Result<Ended> {
    let mut child = spawn(&command, &job.surroundings)?;
    let Some(group) = Group::of(&child) else {
        return Err(io::Error::other("the shell has no process id"));
    };
    let mut watch = Watch {
        stdout: Stream::new(child.stdout.take(), job),
        stderr: Stream::new(child.stderr.take(), job),
        spill: Spill::new(
            job.surroundings.spill_path("output"),
            job.surroundings.limits.output_inline_max,
            job.surroundings.limits.output_spill_max,
        ),
        stage: Stage::Running,
        cause: Cause::Itself,
        group,
        spoke: Instant::now(),
    };
    let status = watch.until_end(&mut child, command.limit, job).await?;
    if status.is_none() {
        watch.group.kill_leader();
    }
    let left_over = watch.group.is_alive();
    if left_over {
        watch.group.kill();
        gone(&watch.group).await;
    }
    Ok(Ended {
        status,
        cause: watch.cause,
        left_over: left_over && watch.cause == Cause::Itself,
        stdout: watch.stdout.ends,
        stderr: watch.stderr.ends,
        spilled: watch.spill.finish().await,
    })
}

/// Waits until a killed group is no more, but not for what the kernel will not let go.
async fn gone(group: &Group) {
    let deadline = Instant::now() + AFTER_KILL;
    while group.is_alive() && Instant::now() < deadline {
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

fn spawn(command: &Command<'_>, surroundings: &Surroundings) -> io::Result<Child> {
    let shell = command.shell;
    let mut process = match &shell.session {
        Some(session) => {
            let mut process = tokio::process::Command::new(session);
            process.arg(&shell.program);
            process
        }
        None => {
            let mut process = tokio::process::Command::new(&shell.program);
            process.process_group(0);
            process
        }
    };
    if shell.is_bash {
        process.args(["--noprofile", "--norc"]);
    }
    process
        .args(["-c", command.script])
        .current_dir(command.directory)
        .env_clear()
        .envs(surroundings.environment.iter().map(|(name, value)| (name, value)))
        .env("PWD", command.directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
}

/// How far the end has come. The timer means something else in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Timer: the deadline.
    Running,
    /// It has exited. Timer: the pipes have had their time.
    Draining,
    /// It was asked to end. Timer: kill.
    Ending,
    /// It was killed. Timer: give up on it.
    Killed,
}

struct Watch {
    stdout: Stream<tokio::process::ChildStdout>,
    stderr: Stream<tokio::process::ChildStderr>,
    spill: Spill,
    stage: Stage,
    cause: Cause,
    group: Group,
    spoke: Instant,
}

impl Watch {
    async fn until_end(
        &mut self,
        child: &mut Child,
        limit: Duration,
        job: &Job,
    ) -> io::Result<Option<ExitStatus>> {
        let timer = tokio::time::sleep(limit);
        tokio::pin!(timer);
        let mut status = None;
        loop {
            if status.is_some() && self.stage == Stage::Ending && !self.group.is_alive() {
                self.stage = Stage::Draining;
                timer.as_mut().reset(Instant::now() + DRAIN);
            }
            if status.is_some() && self.is_over() {
                return Ok(status);
            }
            let must_look = status.is_some() && self.stage == Stage::Ending;
            tokio::select! {
                read = self.stdout.read() => {
                    self.stdout.take(&read);
                    let room = self.spill.push(&self.stdout.chunk).await;
                    self.after_read(room, timer.as_mut(), job);
                }
                read = self.stderr.read() => {
                    self.stderr.take(&read);
                    let room = self.spill.push(&self.stderr.chunk).await;
                    self.after_read(room, timer.as_mut(), job);
                }
                exit = child.wait(), if status.is_none() => {
                    status = Some(exit?);
                    if self.stage == Stage::Running {
                        self.stage = Stage::Draining;
                        timer.as_mut().reset(Instant::now() + DRAIN);
                    }
                }
                () = timer.as_mut() => {
                    if !self.on_timer(timer.as_mut(), status.is_none()) {
                        return Ok(status);
                    }
                }
                () = job.cancel.cancelled(), if self.stage == Stage::Running => {
                    self.end(Cause::Cancel, timer.as_mut());
                }
                () = tokio::time::sleep(LOOK_AGAIN), if must_look => {}
            }
        }
    }

    /// The main process is gone: is there anything left to wait for?
    fn is_over(&self) -> bool {
        match self.stage {
            Stage::Running | Stage::Draining => !self.stdout.is_open() && !self.stderr.is_open(),
            Stage::Ending => false,
            Stage::Killed => true,
        }
    }

    fn end(&mut self, cause: Cause, timer: std::pin::Pin<&mut Sleep>) {
        self.cause = cause;
        self.stage = Stage::Ending;
        self.group.terminate();
        timer.reset(Instant::now() + GRACE);
    }

    /// Says whether to go on.
    fn on_timer(&mut self, timer: std::pin::Pin<&mut Sleep>, is_running: bool) -> bool {
        match self.stage {
            Stage::Running => self.end(Cause::Deadline, timer),
            Stage::Ending => {
                self.stage = Stage::Killed;
                self.group.kill();
                if is_running {
                    self.group.kill_leader();
                }
                timer.reset(Instant::now() + AFTER_KILL);
            }
            Stage::Draining | Stage::Killed => return false,
        }
        true
    }

    fn after_read(&mut self, room: Room, timer: std::pin::Pin<&mut Sleep>, job: &Job) {
        if room == Room::None && self.cause == Cause::Itself {
            self.end(Cause::Flood, timer);
        }
        let now = Instant::now();
        if now.duration_since(self.spoke) >= PROGRESS_EVERY {
            self.spoke = now;
            let line = || self.stdout.ends.last_line().or_else(|| self.stderr.ends.last_line());
            job.progress.say(|| line().unwrap_or_default());
        }
    }
}

/// One pipe and what came through it.
struct Stream<R> {
    pipe: Option<R>,
    chunk: Vec<u8>,
    ends: Ends,
}

impl<R: AsyncRead + Unpin> Stream<R> {
    fn new(pipe: Option<R>, job: &Job) -> Self {
        Self { pipe, chunk: Vec::new(), ends: Ends::new(job.surroundings.limits.output_inline_max) }
    }

    fn is_open(&self) -> bool {
        self.pipe.is_some()
    }

    /// Never ready once the pipe is closed.
    async fn read(&mut self) -> io::Result<usize> {
        match &mut self.pipe {
            Some(pipe) => {
                self.chunk.clear();
                self.chunk.reserve(CHUNK);
                pipe.read_buf(&mut self.chunk).await
            }
            None => std::future::pending().await,
        }
    }

    /// An error on our end of a pipe means no more than that nothing more will come.
    fn take(&mut self, read: &io::Result<usize>) {
        match read {
            Ok(0) | Err(_) => {
                self.pipe = None;
                self.chunk.clear();
            }
            Ok(_) => self.ends.push(&self.chunk),
        }
    }
}
