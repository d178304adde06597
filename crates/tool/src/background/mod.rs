//! Background work of a session: commands started by Bash, and agents. Monitor shows them, TaskStop
//! ends them.
//!
//! Each task has an owner (the session), a deadline and an output limit; their number is limited.
//! Output is written to a file as it arrives. When the session's context is dropped, all of them
//! are ended; tasks left by a killed process are ended at the next start.

mod agent;
mod foreground_agent;
mod foreground_command;
mod new_output;
mod tasks;

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::limits::ToolLimits;
use crate::lock::lock;
use crate::process::{
    self, FinishedProcess, ProcessContext, ProcessEndCause, ProcessOwner, ProgramSpec, RunningNote,
    SuperviseOptions, SuperviseOutputOptions, explain_spawn_failure, render_end_cause,
    render_exit_status, spawn_with_retry, supervise,
};
use crate::process_output::OutputSpill;
use crate::progress::ProgressSender;
use crate::secrets::Secrets;

pub use agent::BackgroundAgent;
pub use foreground_agent::ForegroundAgentGuard;
pub(crate) use foreground_command::{AwaitedCommand, AwaitedCommandEnd};
pub(crate) use new_output::{read_output_since, visit_output_since};
pub use tasks::{BackgroundEndNotice, BackgroundTask, BackgroundTasks, StoppedTask};

const COMMAND_CHARS_MAX: usize = 200;
/// Bytes kept in memory of either end of a stream: only the last line is needed.
const INLINE_BYTES_MAX: usize = 1_024;

#[derive(Debug)]
pub(crate) struct BackgroundRecord {
    pub(crate) id: String,
    pub(crate) command: String,
    pub(crate) kind: BackgroundKind,
    pub(crate) output_path: PathBuf,
    pub(crate) cancel: CancellationToken,
    pub(crate) started: Instant,
    /// Identifies its process, even from another process.
    process_identity: OnceLock<String>,
    /// Notified when output was written, and at the end.
    pub(crate) update_signal: Arc<Notify>,
    state: Mutex<BackgroundRecordState>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BackgroundKind {
    Command,
    Agent,
}

#[derive(Debug, Default)]
struct BackgroundRecordState {
    /// How it ended; `None` while it runs.
    outcome: Option<BackgroundOutcome>,
    /// How many bytes of output the model has seen.
    shown_bytes: u64,
    is_end_reported: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct BackgroundOutcome {
    pub(crate) summary: String,
    pub(crate) end: BackgroundTaskEnd,
    /// What it has to say to the model, where that is more than what it wrote.
    pub(crate) answer: Option<String>,
}

impl BackgroundOutcome {
    fn without_answer(summary: String, end: BackgroundTaskEnd) -> Self {
        Self { summary, end, answer: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackgroundTaskEnd {
    Completed,
    Failed,
    /// A command that was ended from outside: on request, or because it broke a limit.
    Stopped,
}

impl BackgroundRecord {
    fn new(kind: BackgroundKind, id: String, command: &str, output_path: PathBuf) -> Self {
        Self {
            id,
            command: command.chars().take(COMMAND_CHARS_MAX).collect(),
            kind,
            output_path,
            cancel: CancellationToken::new(),
            started: Instant::now(),
            process_identity: OnceLock::new(),
            update_signal: Arc::default(),
            state: Mutex::default(),
        }
    }

    pub(crate) fn outcome(&self) -> Option<BackgroundOutcome> {
        lock(&self.state).outcome.clone()
    }

    pub(crate) fn shown_bytes(&self) -> u64 {
        lock(&self.state).shown_bytes
    }

    pub(crate) fn set_shown_bytes(&self, byte: u64) {
        lock(&self.state).shown_bytes = byte;
    }

    /// Marks the end as reported to the model. Returns whether it was not reported before.
    pub(crate) fn mark_end_reported(&self) -> bool {
        let mut state = lock(&self.state);
        state.outcome.is_some() && !std::mem::replace(&mut state.is_end_reported, true)
    }

    pub(crate) fn is_end_reported(&self) -> bool {
        lock(&self.state).is_end_reported
    }

    /// The owner of its process.
    fn owner(&self) -> ProcessOwner {
        ProcessOwner {
            cancel: self.cancel.clone(),
            progress: ProgressSender::default(),
            update_signal: Some(Arc::clone(&self.update_signal)),
        }
    }

    fn kill(&self) {
        if self.outcome().is_none() {
            self.cancel.cancel();
            if let Some(identity) = self.process_identity.get() {
                process::kill_process_tree(identity);
            }
        }
    }

    fn set_outcome(&self, end: BackgroundOutcome) {
        lock(&self.state).outcome = Some(end);
        self.update_signal.notify_waiters();
    }
}

pub(crate) struct BackgroundCommand<'a> {
    pub(crate) program: &'a ProgramSpec,
    /// As the model wrote it.
    pub(crate) command: &'a str,
    pub(crate) timeout: Duration,
    pub(crate) environment: &'a [(OsString, OsString)],
    pub(crate) processes: &'a ProcessContext,
    pub(crate) limits: &'a ToolLimits,
    pub(crate) secrets: &'a Secrets,
}

impl BackgroundTasks {
    /// Starts a command in the background.
    ///
    /// # Errors
    /// Why it was not started, as a message for the model.
    pub(crate) async fn start_command(
        &self,
        start: BackgroundCommand<'_>,
    ) -> Result<Arc<BackgroundRecord>, String> {
        let BackgroundCommand { program, processes, limits, timeout, .. } = start;
        let spill_max = limits.output_spill_bytes_max;
        let output = processes.new_spill_path("background");
        let spill = OutputSpill::create_live(output.clone(), spill_max).await.map_err(|error| {
            format!("`{}` could not be made for the output: {error}.", output.display())
        })?;
        let spill = spill.with_redaction(start.secrets);
        let task = self.add_command(start.command, output, limits.background_tasks_max)?;
        let process = match spawn_with_retry(program, processes, start.environment).await {
            Ok(process) => process,
            Err(error) => {
                self.remove(&task.id);
                return Err(explain_spawn_failure(&error, &program.path));
            }
        };
        let identity = process.identity();
        let note = RunningNote::write(processes, Some(&task.output_path), &identity);
        let _ = task.process_identity.set(identity);
        let options = SuperviseOptions {
            timeout,
            output: SuperviseOutputOptions {
                spill,
                inline_max: INLINE_BYTES_MAX,
                processes_max: limits.processes_max,
                first_line: None,
            },
            owner: task.owner(),
            handover: None,
        };
        self.follow_command(&task, timeout, spill_max, note, supervise(process, options));
        Ok(task)
    }

    /// Takes over a command for which a call has waited so far.
    fn follow_command(
        &self,
        task: &Arc<BackgroundRecord>,
        timeout: Duration,
        spill_max: u64,
        note: Option<RunningNote>,
        supervision: impl Future<Output = io::Result<FinishedProcess>> + Send + 'static,
    ) {
        let supervised = Arc::clone(task);
        let end_signal = self.end_signal();
        tokio::spawn(async move {
            let outcome = match supervision.await {
                Ok(ended) => build_outcome(&ended, timeout, spill_max),
                Err(error) => BackgroundOutcome::without_answer(
                    format!("It was lost: {error}."),
                    BackgroundTaskEnd::Failed,
                ),
            };
            drop(note);
            supervised.set_outcome(outcome);
            end_signal.notify_waiters();
        });
    }
}

fn build_outcome(ended: &FinishedProcess, limit: Duration, spill_max: u64) -> BackgroundOutcome {
    let cause = match ended.cause {
        ProcessEndCause::Cancelled => Some("Stopped.".to_owned()),
        ProcessEndCause::Exited
        | ProcessEndCause::Deadline
        | ProcessEndCause::TooMuchOutput
        | ProcessEndCause::TooManyProcesses => render_end_cause(ended.cause, limit, spill_max),
    };
    let failure = cause.or_else(|| render_exit_status(ended.status));
    let has_failed = failure.is_some();
    let mut words = failure.unwrap_or_else(|| "Exit code 0".to_owned());
    for note in &ended.notes {
        words.push_str(&format!(" [{note}]"));
    }
    let end = match ended.cause {
        ProcessEndCause::Cancelled
        | ProcessEndCause::TooManyProcesses
        | ProcessEndCause::TooMuchOutput => BackgroundTaskEnd::Stopped,
        ProcessEndCause::Exited | ProcessEndCause::Deadline if has_failed => {
            BackgroundTaskEnd::Failed
        }
        ProcessEndCause::Exited | ProcessEndCause::Deadline => BackgroundTaskEnd::Completed,
    };
    BackgroundOutcome::without_answer(words, end)
}
