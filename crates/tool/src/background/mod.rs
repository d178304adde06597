//! What runs beside the session: commands started by Bash and agents, looked at by Monitor, ended by
//! TaskStop.
//!
//! Each has an owner (the session), a deadline, and a cap on what it may write; there are only so
//! many at a time. What it writes goes to a file as it comes. When the session's surroundings are
//! dropped, all of them are ended; what a killed process left is ended by the next start.

mod beside;
mod list;
mod look;
mod monitor;
mod stop;
mod waited;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::bash::report::{cause_note, not_started, status_note};
use crate::output::Spill;
use crate::process::{self, Cause, Ended, Order, Output, Program, Running, spawn, stay};
use crate::surroundings::{Surroundings, lock};
use crate::tool::Progress;

pub use beside::Beside;
pub use list::{Background, BackgroundEnd, BackgroundTask};
pub(crate) use monitor::Monitor;
pub(crate) use stop::TaskStop;
pub use waited::Waiting;

/// Characters of what a task was told to do that are shown.
const COMMAND_CHARS_MAX: usize = 200;
/// Bytes of either end of a stream kept in memory: only the last line is ever asked for.
const INLINE_BYTES: usize = 1_024;

/// One command or agent in the background.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) id: String,
    /// What it was told to do.
    pub(crate) command: String,
    pub(crate) kind: Kind,
    pub(crate) output: PathBuf,
    pub(crate) cancel: CancellationToken,
    pub(crate) started: Instant,
    /// Its process, as it can be known again.
    identity: OnceLock<String>,
    /// Rung whenever something was written, and at the end.
    pub(crate) bell: Arc<Notify>,
    state: Mutex<State>,
}

/// What runs there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Command,
    Agent,
}

#[derive(Debug, Default)]
struct State {
    /// How it ended, in words; `None` while it runs.
    end: Option<End>,
    /// How far what it wrote has been shown to the model.
    shown_to: u64,
    /// The model knows that it ended.
    is_told: bool,
}

/// How a task ended.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) words: String,
    pub(crate) is_failure: bool,
    /// What it has to say to the model, where that is more than what it wrote.
    pub(crate) answer: Option<String>,
}

impl End {
    fn of(words: String, is_failure: bool) -> Self {
        Self { words, is_failure, answer: None }
    }
}

impl Task {
    fn new(kind: Kind, id: String, command: &str, output: PathBuf) -> Self {
        Self {
            id,
            command: command.chars().take(COMMAND_CHARS_MAX).collect(),
            kind,
            output,
            cancel: CancellationToken::new(),
            started: Instant::now(),
            identity: OnceLock::new(),
            bell: Arc::default(),
            state: Mutex::default(),
        }
    }

    pub(crate) fn end(&self) -> Option<End> {
        lock(&self.state).end.clone()
    }

    pub(crate) fn shown_to(&self) -> u64 {
        lock(&self.state).shown_to
    }

    pub(crate) fn show_to(&self, byte: u64) {
        lock(&self.state).shown_to = byte;
    }

    /// Notes that the model knows of the end. Says whether it did not yet.
    pub(crate) fn tell(&self) -> bool {
        let mut state = lock(&self.state);
        state.end.is_some() && !std::mem::replace(&mut state.is_told, true)
    }

    /// Does the model know of the end?
    pub(crate) fn is_told(&self) -> bool {
        lock(&self.state).is_told
    }

    /// Ends it here and now, without asking.
    fn kill(&self) {
        if self.end().is_none() {
            self.cancel.cancel();
            self.identity.get().map(|identity| process::end(identity));
        }
    }

    fn ended(&self, end: End) {
        lock(&self.state).end = Some(end);
        self.bell.notify_waiters();
    }
}

/// Starts a command and lets it run.
///
/// # Errors
/// Why it was not started, in words for the model.
pub(crate) async fn start(
    surroundings: &Surroundings,
    program: &Program,
    command: &str,
    limit: Duration,
) -> Result<Arc<Task>, String> {
    let limits = &surroundings.limits;
    let output = surroundings.spill_path("background");
    let spill = Spill::live(output.clone(), limits.output_spill_max).await.map_err(|error| {
        format!("`{}` could not be made for the output: {error}.", output.display())
    })?;
    let spill = spill.without(&surroundings.secrets);
    let tasks = surroundings.background();
    let task = tasks.add(command, output, limits.background_tasks_max)?;
    let process = match spawn(program, surroundings).await {
        Ok(process) => process,
        Err(error) => {
            tasks.remove(&task.id);
            return Err(not_started(&error, &program.path));
        }
    };
    let note = Running::note(surroundings, Some(&task.output), &process);
    let _ = task.identity.set(process.identity());
    let order = Order {
        limit,
        output: Output {
            spill,
            inline_max: INLINE_BYTES,
            processes_max: limits.processes_max,
            bell: Some(Arc::clone(&task.bell)),
            first: None,
        },
        cancel: task.cancel.clone(),
        progress: Progress::default(),
    };
    let (supervised, ends, spill_max) = (Arc::clone(&task), tasks.ends(), limits.output_spill_max);
    tokio::spawn(async move {
        let end = match stay(process, order).await {
            Ok(ended) => words(&ended, limit, spill_max),
            Err(error) => End::of(format!("It was lost: {error}."), true),
        };
        drop(note);
        supervised.ended(end);
        ends.notify_waiters();
    });
    Ok(task)
}

fn words(ended: &Ended, limit: Duration, spill_max: u64) -> End {
    let cause = match ended.cause {
        Cause::Cancel => Some("Stopped.".to_owned()),
        cause => cause_note(cause, limit, spill_max),
    };
    let failure = cause.or_else(|| status_note(ended.status));
    let is_failure = failure.is_some();
    let mut words = failure.unwrap_or_else(|| "Exit code 0".to_owned());
    for note in &ended.notes {
        words.push_str(&format!(" [{note}]"));
    }
    End::of(words, is_failure)
}
