//! The background commands of a session, and what a driver may ask about them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;

use super::Task;
use crate::surroundings::lock;

/// Ended commands that are remembered; older ones are forgotten first.
const ENDED_MAX: usize = 64;
/// Characters of a command that are shown.
const COMMAND_CHARS_MAX: usize = 200;

/// The background commands of a session. Kills all of them when dropped; [`Background::close`] asks
/// them first.
#[derive(Debug, Default)]
pub struct Background {
    tasks: Mutex<Tasks>,
    ends: Arc<Notify>,
}

#[derive(Debug, Default)]
struct Tasks {
    list: Vec<Arc<Task>>,
    count: u64,
}

/// One background command, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundTask {
    /// Its name, for Monitor and TaskStop.
    pub id: String,
    /// What was run.
    pub command: String,
    /// Where everything it writes is.
    pub output: PathBuf,
    /// How it ended, in words; `None` while it runs.
    pub ended: Option<String>,
}

/// The end of a background command, to be told to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundEnd {
    /// Which.
    pub task: BackgroundTask,
    /// A sentence for the model.
    pub note: String,
}

impl Background {
    /// All that are known, in the order they were started.
    #[must_use]
    pub fn tasks(&self) -> Vec<BackgroundTask> {
        lock(&self.tasks).list.iter().map(|task| seen(task)).collect()
    }

    /// Commands that have ended without the model being told so yet; each is given once.
    #[must_use]
    pub fn take_ended(&self) -> Vec<BackgroundEnd> {
        let tasks = lock(&self.tasks).list.clone();
        let told = tasks.iter().filter(|task| task.tell()).map(|task| {
            let task = seen(task);
            let note = format!(
                "The background command `{}` ({}) has ended: {} What it wrote is in {}.",
                task.id,
                task.command,
                sentence(task.ended.as_deref().unwrap_or_default()),
                task.output.display()
            );
            BackgroundEnd { task, note }
        });
        told.collect()
    }

    /// Waits until one more command has ended. Waits for ever if none does.
    pub async fn one_ended(&self) {
        self.ends.notified().await;
    }

    /// Asks all of them to end; they are killed when they do not.
    pub fn stop_all(&self) {
        for task in &lock(&self.tasks).list {
            task.cancel.cancel();
        }
    }

    /// Asks all of them to end and waits until they have. Takes at most about three seconds.
    pub async fn close(&self) {
        self.stop_all();
        loop {
            let ended = self.ends.notified();
            if self.running() == 0 {
                return;
            }
            let patience = std::time::Duration::from_secs(3);
            if tokio::time::timeout(patience, ended).await.is_err() {
                return;
            }
        }
    }

    /// How many are running.
    #[must_use]
    pub fn running(&self) -> usize {
        lock(&self.tasks).list.iter().filter(|task| task.end().is_none()).count()
    }

    pub(super) fn ends(&self) -> Arc<Notify> {
        Arc::clone(&self.ends)
    }

    pub(super) fn add(
        &self,
        command: &str,
        output: PathBuf,
        running_max: usize,
    ) -> Result<Arc<Task>, String> {
        let mut tasks = lock(&self.tasks);
        let running = tasks.list.iter().filter(|task| task.end().is_none()).count();
        if running >= running_max {
            return Err(format!(
                "{running} commands run in the background already, which is the most there may \
                 be. End one with TaskStop first."
            ));
        }
        if tasks.list.len() - running > ENDED_MAX
            && let Some(at) = tasks.list.iter().position(|task| task.end().is_some())
        {
            tasks.list.remove(at);
        }
        tasks.count += 1;
        let command: String = command.chars().take(COMMAND_CHARS_MAX).collect();
        let task = Arc::new(Task::new(format!("b{}", tasks.count), &command, output));
        tasks.list.push(Arc::clone(&task));
        Ok(task)
    }

    pub(super) fn remove(&self, id: &str) {
        lock(&self.tasks).list.retain(|task| task.id != id);
    }

    /// The task of that name, or what there is instead.
    pub(super) fn find(&self, id: &str) -> Result<Arc<Task>, String> {
        let tasks = lock(&self.tasks);
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

impl Drop for Background {
    /// Whoever supervises them may never run again, so there is no time to ask.
    fn drop(&mut self) {
        for task in &lock(&self.tasks).list {
            task.kill();
        }
    }
}

fn seen(task: &Task) -> BackgroundTask {
    BackgroundTask {
        id: task.id.clone(),
        command: task.command.clone(),
        output: task.output.clone(),
        ended: task.end().map(|end| end.words),
    }
}

fn sentence(words: &str) -> String {
    if words.ends_with('.') { words.to_owned() } else { format!("{words}.") }
}
