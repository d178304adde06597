//! What runs in the background of a session, and what a driver may ask about it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;

use super::{Kind, Task};
use crate::surroundings::lock;

/// Ended ones that are remembered; older ones are forgotten first.
const ENDED_MAX: usize = 64;

/// A tree is asked, given two seconds, and killed; an agent has to end all of its own. This lies
/// above.
const STOP_MAX: Duration = Duration::from_secs(6);

/// Bytes of an agent's answer that are told.
const ANSWER_BYTES_MAX: usize = 20_000;

/// The background commands and agents of a session. Kills all of them when dropped; [`Background::close`] asks
/// them first.
#[derive(Debug, Default)]
pub struct Background {
    tasks: Mutex<Tasks>,
    ends: Arc<Notify>,
    waited: super::waited::List,
}

#[derive(Debug, Default)]
struct Tasks {
    list: Vec<Arc<Task>>,
    count: u64,
}

/// One background command or agent, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundTask {
    /// Its name, for Monitor and TaskStop.
    pub id: String,
    /// What was run, or what it was told to do.
    pub command: String,
    /// Where everything it writes is.
    pub output: PathBuf,
    /// How it ended, in words; `None` while it runs.
    pub ended: Option<String>,
    /// It ended badly, or was stopped.
    pub has_failed: bool,
    /// It is an agent, and no command.
    pub is_agent: bool,
    /// The model knows that it ended.
    pub is_told: bool,
}

/// The end of a background command or agent, to be told to the model.
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
        let told = tasks.iter().filter(|task| task.tell());
        told.map(|task| BackgroundEnd { task: seen(task), note: note(task) }).collect()
    }

    /// Waits until one more command has ended. Waits for ever if none does.
    pub async fn one_ended(&self) {
        self.ends.notified().await;
    }

    /// Waits until not so many have ended any more, but more of them.
    pub async fn ended_beyond(&self, count: usize) {
        loop {
            let bell = self.ends.notified();
            let tasks = lock(&self.tasks).list.clone();
            if tasks.iter().filter(|task| task.end().is_some()).count() != count {
                return;
            }
            bell.await;
        }
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
            let patience = Duration::from_secs(3);
            if tokio::time::timeout(patience, ended).await.is_err() {
                return;
            }
        }
    }

    /// Ends one with everything it started and waits until it is gone. Gives what it was, and whether
    /// it had ended before.
    ///
    /// # Errors
    /// There is none of this name, or it is still there after a while; in words.
    pub async fn stop(&self, id: &str) -> Result<(BackgroundTask, bool), String> {
        let task = self.find(id)?;
        let had_ended = task.end().is_some();
        task.cancel.cancel();
        let gone = async {
            loop {
                let bell = task.bell.notified();
                if task.end().is_some() {
                    return;
                }
                bell.await;
            }
        };
        if tokio::time::timeout(STOP_MAX, gone).await.is_err() {
            return Err(format!("`{}` was told to end but is still there.", task.id));
        }
        task.tell();
        Ok((seen(&task), had_ended))
    }

    /// How many are running.
    #[must_use]
    pub fn running(&self) -> usize {
        lock(&self.tasks).list.iter().filter(|task| task.end().is_none()).count()
    }

    pub(super) fn waited(&self) -> super::waited::List {
        Arc::clone(&self.waited)
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
        let is_running = |task: &&Arc<Task>| task.kind == Kind::Command && task.end().is_none();
        let running = tasks.list.iter().filter(is_running).count();
        if running >= running_max {
            return Err(format!(
                "{running} commands run in the background already, which is the most there may \
                 be. End one with TaskStop first."
            ));
        }
        tasks.count += 1;
        let id = format!("b{}", tasks.count);
        Ok(tasks.push(Task::new(Kind::Command, id, command, output)))
    }

    pub(super) fn add_agent(&self, task: Task) -> Arc<Task> {
        lock(&self.tasks).push(task)
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

impl Tasks {
    /// One more; the oldest of too many that have ended is forgotten.
    fn push(&mut self, task: Task) -> Arc<Task> {
        let ended = self.list.iter().filter(|task| task.end().is_some()).count();
        if ended > ENDED_MAX
            && let Some(at) = self.list.iter().position(|task| task.end().is_some())
        {
            self.list.remove(at);
        }
        let task = Arc::new(task);
        self.list.push(Arc::clone(&task));
        task
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
        has_failed: task.end().is_some_and(|end| end.is_failure),
        ended: task.end().map(|end| end.words),
        is_agent: task.kind == Kind::Agent,
        is_told: task.is_told(),
    }
}

/// How it ended, for the model; an agent's answer goes with it.
fn note(task: &Task) -> String {
    let Task { id, command, output, .. } = task;
    let end = task.end();
    let words = sentence(end.as_ref().map_or("", |end| &end.words));
    let kind = match task.kind {
        Kind::Command => "command",
        Kind::Agent => "agent",
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

fn sentence(words: &str) -> String {
    if words.ends_with('.') { words.to_owned() } else { format!("{words}.") }
}
