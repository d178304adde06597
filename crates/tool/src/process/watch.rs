//! One child process from start to end: its pipes, its deadline, its whole tree.
//!
//! Returns when the main process has exited and its pipes are drained or 250 ms have passed, never
//! waiting for an end of file that a grandchild holds back. Past the deadline, on cancel, or when
//! it writes without end, the tree is asked to end and killed two seconds later; one that
//! multiplies without end is killed at once.

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Child;
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;

use super::launch::{LaunchEnd, Process};
use super::stream::Stream;
use super::swarm::Swarm;
use super::tree::Tree;
use crate::output::{Ends, Room, Spill, Spilled};
use crate::tool::Progress;

const DRAIN: Duration = Duration::from_millis(250);
const GRACE: Duration = Duration::from_secs(2);
const AFTER_KILL: Duration = Duration::from_millis(500);
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Bytes of standard error told to whoever started it.
const STDERR_TOLD: usize = 8 * 1024;
/// A longer first line is not told.
const FIRST_LINE_MAX: usize = 4 * 1024;
/// How often a tree is counted.
const COUNT_EVERY: Duration = Duration::from_millis(100);
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// Within which bounds a process runs.
pub(crate) struct Order {
    pub(crate) limit: Duration,
    pub(crate) output: Output,
    pub(crate) cancel: CancellationToken,
    pub(crate) progress: Progress,
}

/// Where what it writes is kept.
pub(crate) struct Output {
    pub(crate) spill: Spill,
    /// Bytes of either end of each stream kept in memory.
    pub(crate) inline_max: usize,
    /// Processes it may have at a time.
    pub(crate) processes_max: usize,
    /// Rung whenever something was written.
    pub(crate) bell: Option<Arc<Notify>>,
    /// Told the first line of standard output as soon as it is there.
    pub(crate) first: Option<FirstLine>,
}

/// Waits for the first line, as far as it is short.
#[derive(Debug)]
pub(crate) struct FirstLine {
    line: Vec<u8>,
    told: oneshot::Sender<String>,
}

impl FirstLine {
    pub(crate) fn new(told: oneshot::Sender<String>) -> Self {
        Self { line: Vec::new(), told }
    }

    /// More came. Gives itself back while the line is not whole.
    fn heard(mut self, chunk: &[u8]) -> Option<Self> {
        let end = chunk.iter().position(|byte| *byte == b'\n');
        self.line.extend(chunk.iter().take(end.unwrap_or(chunk.len())));
        if end.is_some() {
            // Nobody wants to know any more if this fails.
            let _ = self.told.send(String::from_utf8_lossy(&self.line).into_owned());
            return None;
        }
        (self.line.len() <= FIRST_LINE_MAX).then_some(self)
    }
}

/// How it came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Itself,
    Deadline,
    Cancel,
    Flood,
    Swarm,
}

/// What is left of a process.
#[derive(Debug)]
pub(crate) struct Ended {
    /// `None` when it could not even be killed in time.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) cause: Cause,
    pub(crate) stdout: Ends,
    pub(crate) stderr: Ends,
    pub(crate) spilled: Spilled,
    /// Other processes of its tree were still there and were killed.
    pub(crate) left_over: bool,
    /// What whoever started it has to say.
    pub(crate) notes: Vec<String>,
}

/// Stays with a process to its end.
pub(crate) async fn stay(process: Process, order: Order) -> io::Result<Ended> {
    let Process { mut child, tree, is_plain, prepared } = process;
    let mut watch = Watch {
        stdout: Stream::new(child.stdout.take(), order.output.inline_max),
        stderr: Stream::new(child.stderr.take(), order.output.inline_max),
        spill: order.output.spill,
        stage: Stage::Running,
        cause: Cause::Itself,
        tree,
        spoke: Instant::now(),
        has_news: false,
        cancel: order.cancel,
        progress: order.progress,
        bell: order.output.bell,
        first: order.output.first,
        swarm: Swarm::new(is_plain, order.output.processes_max),
    };
    let status = watch.until_end(&mut child, order.limit).await?;
    if status.is_none() {
        watch.tree.kill_leader();
    }
    let left_over = watch.tree.is_alive();
    if left_over {
        watch.tree.kill();
        watch.tree.gone().await;
    } else {
        watch.tree.settle();
    }
    let end = LaunchEnd {
        code: status.and_then(|status| status.code()),
        stderr: watch.stderr.ends.render(STDERR_TOLD),
    };
    let notes = match prepared {
        // It may have to wait for a moment, which must not hold up the thread.
        Some(prepared) => tokio::task::spawn_blocking(move || prepared.settle(&end)).await,
        None => Ok(Vec::new()),
    };
    Ok(Ended {
        status,
        notes: notes.unwrap_or_else(|_| vec!["What held the command broke down.".to_owned()]),
        cause: watch.cause,
        left_over: left_over && watch.cause == Cause::Itself,
        stdout: watch.stdout.ends,
        stderr: watch.stderr.ends,
        spilled: watch.spill.finish().await,
    })
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
    tree: Tree,
    spoke: Instant,
    /// Something was printed since.
    has_news: bool,
    cancel: CancellationToken,
    progress: Progress,
    bell: Option<Arc<Notify>>,
    first: Option<FirstLine>,
    swarm: Swarm,
}

impl Watch {
    async fn until_end(
        &mut self,
        child: &mut Child,
        limit: Duration,
    ) -> io::Result<Option<ExitStatus>> {
        let timer = tokio::time::sleep(limit);
        tokio::pin!(timer);
        let mut rounds = tokio::time::interval(COUNT_EVERY);
        rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let cancel = self.cancel.clone();
        let mut status = None;
        loop {
            if status.is_some() && self.stage == Stage::Ending && !self.tree.is_alive() {
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
                    self.first = self.first.take().and_then(|one| one.heard(&self.stdout.chunk));
                    let room = self.spill.push(&self.stdout.chunk).await;
                    self.after_read(room, timer.as_mut());
                }
                read = self.stderr.read() => {
                    self.stderr.take(&read);
                    let room = self.spill.push(&self.stderr.chunk).await;
                    self.after_read(room, timer.as_mut());
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
                () = cancel.cancelled(), if self.stage == Stage::Running => {
                    self.end(Cause::Cancel, timer.as_mut());
                }
                () = tokio::time::sleep(LOOK_AGAIN), if must_look => {}
                // What is printed before a silence is said in it.
                () = tokio::time::sleep_until(self.spoke + PROGRESS_EVERY), if self.has_news => {
                    self.speak();
                }
                _ = rounds.tick(), if self.stage == Stage::Running && self.swarm.before.is_some() => {
                    if self.swarm.is_over(&self.tree) {
                        self.cause = Cause::Swarm;
                        self.kill(timer.as_mut(), status.is_none());
                    }
                }
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
        self.tree.terminate();
        timer.reset(Instant::now() + GRACE);
    }

    /// Says whether to go on.
    fn on_timer(&mut self, timer: std::pin::Pin<&mut Sleep>, is_running: bool) -> bool {
        match self.stage {
            Stage::Running => self.end(Cause::Deadline, timer),
            Stage::Ending => self.kill(timer, is_running),
            Stage::Draining | Stage::Killed => return false,
        }
        true
    }

    fn kill(&mut self, timer: std::pin::Pin<&mut Sleep>, is_running: bool) {
        self.stage = Stage::Killed;
        self.tree.kill();
        if is_running {
            self.tree.kill_leader();
        }
        timer.reset(Instant::now() + AFTER_KILL);
    }

    fn after_read(&mut self, room: Room, timer: std::pin::Pin<&mut Sleep>) {
        if let Some(bell) = &self.bell {
            bell.notify_waiters();
        }
        if room == Room::None && self.cause == Cause::Itself {
            self.end(Cause::Flood, timer);
        }
        self.has_news = true;
        if self.spoke.elapsed() >= PROGRESS_EVERY {
            self.speak();
        }
    }

    /// Says what was printed last.
    fn speak(&mut self) {
        (self.spoke, self.has_news) = (Instant::now(), false);
        let line = || self.stdout.ends.last_line().or_else(|| self.stderr.ends.last_line());
        self.progress.say(|| line().unwrap_or_default());
    }
}
