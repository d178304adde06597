//! The background tasks of a session, and the driver's interface to them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;

use super::{BackgroundKind, BackgroundRecord, BackgroundTaskEnd};
use crate::lock::lock;
use crate::running_time;

/// Limit on ended tasks; the oldest are forgotten first.
const ENDED_MAX: usize = 64;

/// A process tree gets two seconds after a signal before it is killed, and an agent must end its
/// own tree. This must be longer.
const STOP_WAIT_MAX: Duration = Duration::from_secs(6);

const ANSWER_BYTES_MAX: usize = 20_000;

/// The background commands and agents of a session. Dropping it kills all of them;
/// [`BackgroundTasks::close`] asks them to end first.
#[derive(Debug, Default)]
pub struct BackgroundTasks {
    records: Mutex<BackgroundRecords>,
    end_signal: Arc<Notify>,
    foreground_agents: super::foreground_agent::ForegroundAgents,
}

#[derive(Debug, Default)]
struct BackgroundRecords {
    list: Vec<Arc<BackgroundRecord>>,
    started_count: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundTask {
    /// Its id for Monitor and TaskStop.
    pub id: String,
    /// The command line, or the agent's task.
    pub command: String,
    pub output_path: PathBuf,
    /// How it ended; `None` while it runs.
    pub end_summary: Option<String>,
    /// The kind of its end; `None` while it runs.
    pub end: Option<BackgroundTaskEnd>,
    /// It is an agent, not a command.
    pub is_agent: bool,
    pub is_end_reported: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundEndNotice {
    pub task: BackgroundTask,
    pub note: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoppedTask {
    pub task: BackgroundTask,
    /// It had already ended by itself.
    pub had_ended: bool,
}

impl BackgroundTasks {
    /// All known tasks, in the order they were started.
    #[must_use]
    pub fn list_tasks(&self) -> Vec<BackgroundTask> {
        lock(&self.records).list.iter().map(|task| build_snapshot(task)).collect()
    }

    /// Commands whose end was not reported to the model yet; each is returned once.
    #[must_use]
    pub fn take_end_notices(&self) -> Vec<BackgroundEndNotice> {
        let tasks = lock(&self.records).list.clone();
        let ended = tasks.iter().filter(|task| task.mark_end_reported());
        ended
            .map(|task| BackgroundEndNotice {
                task: build_snapshot(task),
                note: render_end_note(task),
            })
            .collect()
    }

    /// Waits until another task ends; forever if none does.
    pub async fn wait_for_next_end(&self) {
        self.end_signal.notified().await;
    }

    /// Waits until the number of ended tasks is no longer `count`.
    pub async fn wait_until_ended_count_changes(&self, count: usize) {
        loop {
            let signal = self.end_signal.notified();
            let tasks = lock(&self.records).list.clone();
            if tasks.iter().filter(|task| task.outcome().is_some()).count() != count {
                return;
            }
            signal.await;
        }
    }

    /// Asks all tasks to end, and kills those that do not.
    pub fn stop_all(&self) {
        for task in &lock(&self.records).list {
            task.cancel.cancel();
        }
    }

    /// Asks all tasks to end and waits for them, at most about three seconds.
    pub async fn close(&self) {
        self.stop_all();
        loop {
            let ended = self.end_signal.notified();
            if self.running_count() == 0 {
                return;
            }
            let patience = Duration::from_secs(3);
            if running_time::timeout(patience, ended).await.is_err() {
                return;
            }
        }
    }

    /// Ends a task with everything it started, and waits until it has ended.
    ///
    /// # Errors
    /// There is no such task, or it does not end in time. The error is a message for the user.
    pub async fn stop(&self, id: &str) -> Result<StoppedTask, String> {
        let task = self.find(id)?;
        let had_ended = task.outcome().is_some();
        task.cancel.cancel();
        let gone = async {
            loop {
                let signal = task.update_signal.notified();
                if task.outcome().is_some() {
                    return;
                }
                signal.await;
            }
        };
        if running_time::timeout(STOP_WAIT_MAX, gone).await.is_err() {
            return Err(format!("`{}` was told to end but is still there.", task.id));
        }
        task.mark_end_reported();
        Ok(StoppedTask { task: build_snapshot(&task), had_ended })
    }

    #[must_use]
    pub fn running_count(&self) -> usize {
        lock(&self.records).list.iter().filter(|task| task.outcome().is_none()).count()
    }

    pub(super) fn foreground_agents(&self) -> super::foreground_agent::ForegroundAgents {
        Arc::clone(&self.foreground_agents)
    }

    pub(super) fn end_signal(&self) -> Arc<Notify> {
        Arc::clone(&self.end_signal)
    }

    pub(super) fn add_command(
        &self,
        command: &str,
        output: PathBuf,
        running_max: usize,
    ) -> Result<Arc<BackgroundRecord>, String> {
        let mut tasks = lock(&self.records);
        let is_running = |task: &&Arc<BackgroundRecord>| {
            task.kind == BackgroundKind::Command && task.outcome().is_none()
        };
        let running = tasks.list.iter().filter(is_running).count();
        if running >= running_max {
            return Err(format!(
                "{running} commands run in the background already, which is the most there may \
                 be. End one with TaskStop first."
            ));
        }
        tasks.started_count += 1;
        let id = format!("b{}", tasks.started_count);
        Ok(tasks.push(BackgroundRecord::new(BackgroundKind::Command, id, command, output)))
    }

    pub(super) fn add_agent(&self, task: BackgroundRecord) -> Arc<BackgroundRecord> {
        lock(&self.records).push(task)
    }

    pub(super) fn remove(&self, id: &str) {
        lock(&self.records).list.retain(|task| task.id != id);
    }

    pub(crate) fn find(&self, id: &str) -> Result<Arc<BackgroundRecord>, String> {
        let tasks = lock(&self.records);
        if let Some(task) = tasks.list.iter().find(|task| task.id == id) {
            return Ok(Arc::clone(task));
        }
        let known: Vec<&str> = tasks.list.iter().map(|task| task.id.as_str()).collect();
        Err(match known.is_empty() {
            true => format!("There is no task `{id}`: nothing runs in the background."),
            false => format!("There is no task `{id}`. There are: {}.", known.join(", ")),
        })
    }
}

impl BackgroundRecords {
    /// Adds a task, and forgets the oldest ended one if there are too many.
    fn push(&mut self, task: BackgroundRecord) -> Arc<BackgroundRecord> {
        let ended = self.list.iter().filter(|task| task.outcome().is_some()).count();
        if ended > ENDED_MAX
            && let Some(at) = self.list.iter().position(|task| task.outcome().is_some())
        {
            self.list.remove(at);
        }
        let task = Arc::new(task);
        self.list.push(Arc::clone(&task));
        task
    }
}

impl Drop for BackgroundTasks {
    /// The supervisors may never run again, so the processes are killed at once.
    fn drop(&mut self) {
        for task in &lock(&self.records).list {
            task.kill();
        }
    }
}

fn build_snapshot(task: &BackgroundRecord) -> BackgroundTask {
    BackgroundTask {
        id: task.id.clone(),
        command: task.command.clone(),
        output_path: task.output_path.clone(),
        end: task.outcome().map(|outcome| outcome.end),
        end_summary: task.outcome().map(|end| end.summary),
        is_agent: task.kind == BackgroundKind::Agent,
        is_end_reported: task.is_end_reported(),
    }
}

fn render_end_note(task: &BackgroundRecord) -> String {
    let BackgroundRecord { id, command, output_path: output, .. } = task;
    let end = task.outcome();
    let words = ensure_full_stop(end.as_ref().map_or("", |end| &end.summary));
    let kind = match task.kind {
        BackgroundKind::Command => "command",
        BackgroundKind::Agent => "agent",
    };
    let begin = format!("The background {kind} `{id}` ({command}) has ended: {words}");
    match end.and_then(|end| end.answer) {
        Some(answer) => {
            let cut = answer.floor_char_boundary(ANSWER_BYTES_MAX);
            let shown = answer.get(..cut).unwrap_or_default();
            let more = if cut < answer.len() { " (its beginning)" } else { "" };
            format!("{begin} All it did is in {}. Its answer{more}:\n{shown}", output.display())
        }
        None => format!("{begin} What it wrote is in {}.", output.display()),
    }
}

fn ensure_full_stop(words: &str) -> String {
    if words.ends_with('.') { words.to_owned() } else { format!("{words}.") }
}
