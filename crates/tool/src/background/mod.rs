//! What runs beside the session: commands started by Bash and agents, looked at by Monitor, ended by
//! TaskStop.
//!
//! Each has an owner (the session), a deadline, and a cap on what it may write; there are only so
//! many at a time. What it writes goes to a file as it comes. When the session's surroundings are
//! dropped, all of them are ended; what a killed process left is ended by the next start.

mod agent;
mod foreground_agent;
mod monitor;
mod new_output;
mod task_stop;
mod tasks;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::bash::outcome::{explain_spawn_failure, render_end_cause, render_exit_status};
use crate::process::{
    self, FinishedProcess, ProcessEndCause, ProgramSpec, RunningNote, SuperviseOptions,
    SuperviseOutputOptions, spawn_with_retry, supervise,
};
use crate::process_output::OutputSpill;
use crate::tool::ProgressSender;
use crate::tool_session_context::{ToolSessionContext, lock};

pub use agent::BackgroundAgent;
pub use foreground_agent::ForegroundAgentGuard;
pub(crate) use monitor::MonitorTool;
pub(crate) use task_stop::TaskStopTool;
pub use tasks::{BackgroundEndNotice, BackgroundTask, BackgroundTasks};

/// Characters of what a task was told to do that are shown.
const COMMAND_CHARS_MAX: usize = 200;
/// Bytes of either end of a stream kept in memory: only the last line is ever asked for.
const INLINE_BYTES_MAX: usize = 1_024;

/// One command or agent in the background.
#[derive(Debug)]
pub(crate) struct BackgroundRecord {
    pub(crate) id: String,
    /// What it was told to do.
    pub(crate) command: String,
    pub(crate) kind: BackgroundKind,
    pub(crate) output_path: PathBuf,
    pub(crate) cancel: CancellationToken,
    pub(crate) started: Instant,
    /// Its process, as it can be known again.
    process_identity: OnceLock<String>,
    /// Rung whenever something was written, and at the end.
    pub(crate) update_signal: Arc<Notify>,
    state: Mutex<BackgroundRecordState>,
}

/// What runs there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BackgroundKind {
    Command,
    Agent,
}

#[derive(Debug, Default)]
struct BackgroundRecordState {
    /// How it ended, in words; `None` while it runs.
    outcome: Option<BackgroundOutcome>,
    /// How far what it wrote has been shown to the model.
    shown_bytes: u64,
    /// The model knows that it ended.
    is_end_reported: bool,
}

/// How a task ended.
#[derive(Clone, Debug)]
pub(crate) struct BackgroundOutcome {
    pub(crate) summary: String,
    pub(crate) is_failure: bool,
    /// It was ended from outside, on request or because it broke a limit.
    pub(crate) was_stopped: bool,
    /// What it has to say to the model, where that is more than what it wrote.
    pub(crate) answer: Option<String>,
}

impl BackgroundOutcome {
    fn without_answer(summary: String, is_failure: bool) -> Self {
        Self { summary, is_failure, was_stopped: false, answer: None }
    }
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

    /// Notes that the model knows of the end. Says whether it did not yet.
    pub(crate) fn mark_end_reported(&self) -> bool {
        let mut state = lock(&self.state);
        state.outcome.is_some() && !std::mem::replace(&mut state.is_end_reported, true)
    }

    /// Does the model know of the end?
    pub(crate) fn is_end_reported(&self) -> bool {
        lock(&self.state).is_end_reported
    }

    /// Ends it here and now, without asking.
    fn kill(&self) {
        if self.outcome().is_none() {
            self.cancel.cancel();
            self.process_identity.get().map(|identity| process::end_process_tree(identity));
        }
    }

    fn set_outcome(&self, end: BackgroundOutcome) {
        lock(&self.state).outcome = Some(end);
        self.update_signal.notify_waiters();
    }
}

/// Starts a command and lets it run.
///
/// # Errors
/// Why it was not started, in words for the model.
pub(crate) async fn start_background_command(
    surroundings: &ToolSessionContext,
    program: &ProgramSpec,
    command: &str,
    limit: Duration,
) -> Result<Arc<BackgroundRecord>, String> {
    let limits = &surroundings.limits;
    let output = surroundings.new_spill_path("background");
    let spill =
        OutputSpill::create_live(output.clone(), limits.output_spill_bytes_max).await.map_err(
            |error| format!("`{}` could not be made for the output: {error}.", output.display()),
        )?;
    let spill = spill.with_redaction(&surroundings.secrets);
    let tasks = surroundings.background();
    let task = tasks.add_command(command, output, limits.background_tasks_max)?;
    let process = match spawn_with_retry(program, surroundings).await {
        Ok(process) => process,
        Err(error) => {
            tasks.remove(&task.id);
            return Err(explain_spawn_failure(&error, &program.path));
        }
    };
    let note = RunningNote::write(surroundings, Some(&task.output_path), &process);
    let _ = task.process_identity.set(process.identity());
    let order = SuperviseOptions {
        timeout: limit,
        output: SuperviseOutputOptions {
            spill,
            inline_max: INLINE_BYTES_MAX,
            processes_max: limits.processes_max,
            update_signal: Some(Arc::clone(&task.update_signal)),
            first_line: None,
        },
        cancel: task.cancel.clone(),
        progress: ProgressSender::default(),
    };
    let (supervised, ends, spill_max) =
        (Arc::clone(&task), tasks.end_signal(), limits.output_spill_bytes_max);
    tokio::spawn(async move {
        let end = match supervise(process, order).await {
            Ok(ended) => build_outcome(&ended, limit, spill_max),
            Err(error) => BackgroundOutcome::without_answer(format!("It was lost: {error}."), true),
        };
        drop(note);
        supervised.set_outcome(end);
        ends.notify_waiters();
    });
    Ok(task)
}

fn build_outcome(ended: &FinishedProcess, limit: Duration, spill_max: u64) -> BackgroundOutcome {
    let cause = match ended.cause {
        ProcessEndCause::Cancelled => Some("Stopped.".to_owned()),
        cause => render_end_cause(cause, limit, spill_max),
    };
    let failure = cause.or_else(|| render_exit_status(ended.status));
    let is_failure = failure.is_some();
    let mut words = failure.unwrap_or_else(|| "Exit code 0".to_owned());
    for note in &ended.notes {
        words.push_str(&format!(" [{note}]"));
    }
    let was_stopped = match ended.cause {
        ProcessEndCause::Cancelled
        | ProcessEndCause::TooManyProcesses
        | ProcessEndCause::TooMuchOutput => true,
        ProcessEndCause::Exited | ProcessEndCause::Deadline => false,
    };
    BackgroundOutcome { was_stopped, ..BackgroundOutcome::without_answer(words, is_failure) }
}
