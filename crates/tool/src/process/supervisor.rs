//! Supervises one child process from start to end: its pipes, its deadline, its process tree.
//!
//! Returns when the main process has exited and its pipes are drained or 250 ms have passed; never
//! waits for a grandchild to close the pipes. At the deadline, when cancelled, or over the output
//! limit, the tree is asked to end and killed two seconds later; a fork bomb is killed at once.

use std::io;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Child;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::fork_bomb_guard::ForkBombGuard;
use super::launch::{LaunchExit, PreparedLaunch, SpawnedProcess};
use super::process_pipe::ProcessPipe;
use super::process_tree::ProcessTree;
use crate::process_output::{HeadAndTail, OutputSpill, SpillCapacity, SpillOutcome};
use crate::progress::ProgressSender;
use crate::running_time::RunningTimer;

const DRAIN_MAX: Duration = Duration::from_millis(250);
const TERMINATE_GRACE: Duration = Duration::from_secs(2);
const KILL_WAIT_MAX: Duration = Duration::from_millis(500);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Bytes of standard error passed to the launcher.
const STDERR_BYTES_REPORTED: usize = 8 * 1024;
const FIRST_LINE_MAX: usize = 4 * 1024;
const COUNT_EVERY: Duration = Duration::from_millis(100);
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

pub(crate) struct SuperviseOptions {
    pub(crate) timeout: Duration,
    pub(crate) output: SuperviseOutputOptions,
    pub(crate) owner: ProcessOwner,
    /// Receives the request to move the process to the background.
    pub(crate) handover: Option<oneshot::Receiver<ProcessHandover>>,
}

/// The owner of a process: a call, or the background.
#[derive(Debug, Default)]
pub(crate) struct ProcessOwner {
    pub(crate) cancel: CancellationToken,
    pub(crate) progress: ProgressSender,
    /// Notified whenever output was written.
    pub(crate) update_signal: Option<Arc<Notify>>,
}

/// Moves a running process to another owner, with another deadline.
#[derive(Debug)]
pub(crate) struct ProcessHandover {
    pub(crate) owner: ProcessOwner,
    pub(crate) timeout: Duration,
    /// Receives whether it was moved: then all its output so far is on disk.
    pub(crate) is_done: oneshot::Sender<bool>,
}

pub(crate) struct SuperviseOutputOptions {
    pub(crate) spill: OutputSpill,
    /// Bytes kept in memory of either end of each stream.
    pub(crate) inline_max: usize,
    pub(crate) processes_max: usize,
    /// Receives the first line of standard output as soon as it is complete.
    pub(crate) first_line: Option<FirstLineReporter>,
}

/// Waits for the first line, up to a limit.
#[derive(Debug)]
pub(crate) struct FirstLineReporter {
    line: Vec<u8>,
    sender: oneshot::Sender<String>,
}

impl FirstLineReporter {
    pub(crate) fn new(sender: oneshot::Sender<String>) -> Self {
        Self { line: Vec::new(), sender }
    }

    /// Adds output. Returns itself while the line is incomplete.
    fn push(mut self, chunk: &[u8]) -> Option<Self> {
        let end = chunk.iter().position(|byte| *byte == b'\n');
        self.line.extend(chunk.iter().take(end.unwrap_or(chunk.len())));
        if end.is_some() {
            // Fails if the receiver was dropped.
            let _ = self.sender.send(String::from_utf8_lossy(&self.line).into_owned());
            return None;
        }
        (self.line.len() <= FIRST_LINE_MAX).then_some(self)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessEndCause {
    Exited,
    Deadline,
    Cancelled,
    TooMuchOutput,
    TooManyProcesses,
}

#[derive(Debug)]
pub(crate) struct FinishedProcess {
    /// `None` if it could not even be killed in time.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) cause: ProcessEndCause,
    pub(crate) stdout: HeadAndTail,
    pub(crate) stderr: HeadAndTail,
    pub(crate) spill_outcome: SpillOutcome,
    /// Other processes of its tree were still running and were killed.
    pub(crate) had_leftovers: bool,
    /// Messages of the launcher for the model.
    pub(crate) notes: Vec<String>,
}

pub(crate) async fn supervise(
    process: SpawnedProcess,
    options: SuperviseOptions,
) -> io::Result<FinishedProcess> {
    let SpawnedProcess { mut child, tree, is_leaf_program, prepared, private_directory } = process;
    let mut supervisor = ProcessSupervisor {
        stdout: ProcessPipe::new(child.stdout.take(), options.output.inline_max),
        stderr: ProcessPipe::new(child.stderr.take(), options.output.inline_max),
        spill: options.output.spill,
        phase: SupervisionPhase::Running,
        cause: ProcessEndCause::Exited,
        tree,
        absent_since: None,
        last_progress: Instant::now(),
        has_new_output: false,
        owner: options.owner,
        prepared,
        first_line: options.output.first_line,
        fork_bomb_guard: ForkBombGuard::new(is_leaf_program, options.output.processes_max),
    };
    let status = supervisor.run_until_end(&mut child, options.timeout, options.handover).await?;
    if status.is_none() {
        supervisor.tree.kill_leader();
    }
    let left_over = supervisor.tree.is_alive();
    if left_over {
        supervisor.tree.kill();
        supervisor.tree.wait_until_gone().await;
    } else {
        supervisor.tree.mark_gone();
    }
    let end = LaunchExit {
        code: status.and_then(|status| status.code()),
        stderr: supervisor.stderr.captured.render(STDERR_BYTES_REPORTED),
    };
    let notes = match supervisor.prepared.take() {
        // This may block for a moment.
        Some(prepared) => tokio::task::spawn_blocking(move || prepared.finish(&end)).await,
        None => Ok(Vec::new()),
    };
    drop(private_directory);
    Ok(FinishedProcess {
        status,
        notes: notes.unwrap_or_else(|_| vec!["What held the command broke down.".to_owned()]),
        cause: supervisor.cause,
        had_leftovers: left_over && supervisor.cause == ProcessEndCause::Exited,
        stdout: supervisor.stdout.captured,
        stderr: supervisor.stderr.captured,
        spill_outcome: supervisor.spill.finish().await,
    })
}

/// Waits forever if there is no receiver.
async fn receive_handover(
    from: &mut Option<oneshot::Receiver<ProcessHandover>>,
) -> ProcessHandover {
    if let Some(receiver) = from
        && let Ok(order) = receiver.await
    {
        *from = None;
        return order;
    }
    *from = None;
    std::future::pending().await
}

/// The phases of the end. The timer has another meaning in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SupervisionPhase {
    /// Timer: the deadline.
    Running,
    /// The process has exited. Timer: the limit for draining the pipes.
    Draining,
    /// It was asked to end. Timer: kill it.
    Terminating,
    /// It was killed. Timer: stop waiting for it.
    Killed,
}

struct ProcessSupervisor {
    stdout: ProcessPipe<tokio::process::ChildStdout>,
    stderr: ProcessPipe<tokio::process::ChildStderr>,
    spill: OutputSpill,
    phase: SupervisionPhase,
    cause: ProcessEndCause,
    tree: ProcessTree,
    /// Since when no process of the tree was found.
    absent_since: Option<Instant>,
    last_progress: Instant,
    has_new_output: bool,
    owner: ProcessOwner,
    prepared: Option<Box<dyn PreparedLaunch>>,
    first_line: Option<FirstLineReporter>,
    fork_bomb_guard: ForkBombGuard,
}

impl ProcessSupervisor {
    async fn run_until_end(
        &mut self,
        child: &mut Child,
        limit: Duration,
        mut handover: Option<oneshot::Receiver<ProcessHandover>>,
    ) -> io::Result<Option<ExitStatus>> {
        let mut timer = RunningTimer::new(limit);
        let mut rounds = tokio::time::interval(COUNT_EVERY);
        rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut cancel = self.owner.cancel.clone();
        let mut status = None;
        loop {
            if status.is_some()
                && self.phase == SupervisionPhase::Terminating
                && self.is_tree_gone()
            {
                self.phase = SupervisionPhase::Draining;
                timer.reset(DRAIN_MAX);
            }
            if status.is_some() && self.has_drained() {
                return Ok(status);
            }
            let must_look = status.is_some() && self.phase == SupervisionPhase::Terminating;
            tokio::select! {
                read = self.stdout.read() => {
                    self.stdout.accept_read(&read);
                    self.first_line = self.first_line.take().and_then(|one| one.push(&self.stdout.chunk));
                    let room = self.spill.push(&self.stdout.chunk).await;
                    self.after_read(room, &mut timer);
                }
                read = self.stderr.read() => {
                    self.stderr.accept_read(&read);
                    let room = self.spill.push(&self.stderr.chunk).await;
                    self.after_read(room, &mut timer);
                }
                exit = child.wait(), if status.is_none() => {
                    status = Some(exit?);
                    if self.phase == SupervisionPhase::Running {
                        self.phase = SupervisionPhase::Draining;
                        timer.reset(DRAIN_MAX);
                    }
                }
                () = &mut timer => {
                    if !self.on_timer(&mut timer, status.is_none()) {
                        return Ok(status);
                    }
                }
                () = cancel.cancelled(), if self.phase == SupervisionPhase::Running => {
                    self.begin_termination(ProcessEndCause::Cancelled, &mut timer);
                }
                order = receive_handover(&mut handover), if self.phase == SupervisionPhase::Running => {
                    self.hand_over(order, &mut timer).await;
                    cancel = self.owner.cancel.clone();
                }
                () = tokio::time::sleep(POLL_INTERVAL), if must_look => {}
                // The tree is checked while there is no output.
                () = tokio::time::sleep_until(self.last_progress + PROGRESS_EVERY), if self.has_new_output => {
                    self.report_progress();
                }
                _ = rounds.tick(), if self.phase == SupervisionPhase::Running && self.fork_bomb_guard.processes_before.is_some() => {
                    if self.fork_bomb_guard.is_exceeded(&self.tree) {
                        self.cause = ProcessEndCause::TooManyProcesses;
                        self.kill(&mut timer, status.is_none());
                    }
                }
            }
        }
    }

    async fn hand_over(&mut self, order: ProcessHandover, timer: &mut RunningTimer) {
        let may_go_on = self.prepared.as_mut().is_none_or(|one| one.continue_in_background());
        if may_go_on && self.spill.make_live().await {
            self.owner = order.owner;
            timer.reset(order.timeout);
            let _ = order.is_done.send(true);
        } else {
            let _ = order.is_done.send(false);
        }
    }

    /// Checks twice with a pause: during an exec a process shows neither its mark nor its pipes,
    /// and would be left behind.
    fn is_tree_gone(&mut self) -> bool {
        if self.tree.is_alive() {
            self.absent_since = None;
            return false;
        }
        self.absent_since.get_or_insert_with(Instant::now).elapsed() >= POLL_INTERVAL / 2
    }

    /// After the main process has exited: is there nothing left to wait for?
    fn has_drained(&self) -> bool {
        match self.phase {
            SupervisionPhase::Running | SupervisionPhase::Draining => {
                !self.stdout.is_open() && !self.stderr.is_open()
            }
            SupervisionPhase::Terminating => false,
            SupervisionPhase::Killed => true,
        }
    }

    fn begin_termination(&mut self, cause: ProcessEndCause, timer: &mut RunningTimer) {
        self.cause = cause;
        self.phase = SupervisionPhase::Terminating;
        self.tree.terminate();
        timer.reset(TERMINATE_GRACE);
    }

    /// Returns whether to continue.
    fn on_timer(&mut self, timer: &mut RunningTimer, is_running: bool) -> bool {
        match self.phase {
            SupervisionPhase::Running => self.begin_termination(ProcessEndCause::Deadline, timer),
            SupervisionPhase::Terminating => self.kill(timer, is_running),
            SupervisionPhase::Draining | SupervisionPhase::Killed => return false,
        }
        true
    }

    fn kill(&mut self, timer: &mut RunningTimer, is_running: bool) {
        self.phase = SupervisionPhase::Killed;
        self.tree.kill();
        if is_running {
            self.tree.kill_leader();
        }
        timer.reset(KILL_WAIT_MAX);
    }

    fn after_read(&mut self, room: SpillCapacity, timer: &mut RunningTimer) {
        if let Some(bell) = &self.owner.update_signal {
            bell.notify_waiters();
        }
        if room == SpillCapacity::Exhausted && self.cause == ProcessEndCause::Exited {
            self.begin_termination(ProcessEndCause::TooMuchOutput, timer);
        }
        self.has_new_output = true;
        if self.last_progress.elapsed() >= PROGRESS_EVERY {
            self.report_progress();
        }
    }

    fn report_progress(&mut self) {
        (self.last_progress, self.has_new_output) = (Instant::now(), false);
        let streams = [&mut self.stdout.captured, &mut self.stderr.captured];
        self.owner.progress.report(|| {
            let lines = streams.into_iter().filter_map(HeadAndTail::take_new_lines);
            lines.collect::<Vec<_>>().join("\n")
        });
    }
}
