//! Sessions and commands that calls of the main session have started: which they are, what they do, and
//! which of them go on by themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde_json::{Value, json};
use windlass_driver::BackgroundTask;
use windlass_vocabulary::notice::Ending;
use windlass_vocabulary::{AgentId, Notice, Terminal, ToolCall};

use super::frame::{Frame, Subtype, TaskUsage};
use super::narrator::{Narrator, system};

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    /// What calls said they are for, until their sessions begin.
    announced: BTreeMap<String, String>,
    /// By the call that started them.
    live: BTreeMap<String, Task>,
    /// Calls that were answered before the sessions they started had begun.
    ahead: BTreeSet<String>,
    /// Commands in the background, by name, and the calls that started them.
    commands: BTreeMap<String, Command>,
    /// Commands that were told of at all.
    known: BTreeSet<String>,
    /// Text of theirs is wanted too.
    tells_text: bool,
}

#[derive(Debug)]
struct Command {
    description: String,
    call: String,
}

#[derive(Debug)]
struct Task {
    agent: String,
    description: String,
    began: Instant,
    uses: u64,
    tokens: u64,
    /// Its call was answered, and it goes on.
    is_left: bool,
    narrator: Narrator,
}

impl Tasks {
    /// None yet.
    pub(crate) fn new(tells_text: bool) -> Self {
        Self { tells_text, ..Self::default() }
    }

    /// Those that go on by themselves, for clients.
    pub(crate) fn left(&self) -> Vec<Value> {
        let left = self.live.values().filter(|task| task.is_left);
        let agents = left.map(|task| {
            json!({ "task_id": task.agent, "task_type": KIND, "description": task.description })
        });
        let commands = self.commands.iter().map(|(id, command)| {
            json!({ "task_id": id, "task_type": COMMAND, "description": command.description })
        });
        agents.chain(commands).collect()
    }

    /// Do commands run in the background?
    pub(crate) fn has_commands(&self) -> bool {
        !self.commands.is_empty()
    }

    /// A call left something running: commands that are new.
    pub(crate) fn commands_began(&mut self, all: &[BackgroundTask], call: &str) -> Vec<Frame> {
        let mut frames = Vec::new();
        for task in all.iter().filter(|task| !task.is_agent) {
            if !self.known.insert(task.id.clone()) {
                continue;
            }
            let (description, call) = (task.command.clone(), call.to_owned());
            frames.push(system(Subtype::TaskStarted {
                task_id: task.id.clone(),
                description: description.clone(),
                task_type: COMMAND,
                tool_use_id: Some(call.clone()),
            }));
            self.commands.insert(task.id.clone(), Command { description, call });
        }
        if !frames.is_empty() {
            frames.push(system(Subtype::BackgroundTasksChanged { tasks: self.left() }));
        }
        frames
    }

    /// Commands that are no longer running.
    pub(crate) fn commands_ended(&mut self, all: &[BackgroundTask]) -> Vec<Frame> {
        let mut frames = Vec::new();
        for task in all {
            let Some(words) = &task.ended else { continue };
            let Some(Command { description, call }) = self.commands.remove(&task.id) else {
                continue;
            };
            let is_stopped = task.has_failed && words.starts_with("Stopped");
            frames.push(system(Subtype::TaskNotification {
                task_id: task.id.clone(),
                status: match task.has_failed {
                    false => "completed",
                    true if is_stopped => "stopped",
                    true => "failed",
                },
                output_file: task.output.to_string_lossy().into_owned(),
                summary: format!("{description}: {words}"),
                usage: None,
                tool_use_id: Some(call),
            }));
        }
        if !frames.is_empty() {
            frames.push(system(Subtype::BackgroundTasksChanged { tasks: self.left() }));
        }
        frames
    }

    /// A call of the main session runs.
    pub(crate) fn called(&mut self, call: &ToolCall) {
        if call.name.as_str() == "Agent" {
            let input: Value = serde_json::from_str(call.input.as_str()).unwrap_or_default();
            let text = |key: &str| input.get(key).and_then(Value::as_str);
            let words = text("description").or(text("prompt")).unwrap_or("agent").to_owned();
            self.announced.insert(call.id.as_str().to_owned(), words);
        }
    }

    /// A call of the main session has its outcome. What it started and is still there was left alone.
    pub(crate) fn answered(&mut self, call: &str) -> Vec<Frame> {
        let is_ahead = self.announced.remove(call).is_some();
        let Some(task) = self.live.get_mut(call) else {
            if is_ahead {
                self.ahead.insert(call.to_owned());
            }
            return Vec::new();
        };
        task.is_left = true;
        vec![system(Subtype::BackgroundTasksChanged { tasks: self.left() })]
    }

    /// One of them tells something.
    pub(crate) fn tell(&mut self, call: &str, agent: &AgentId, notice: &Notice) -> Vec<Frame> {
        if let Notice::RunStarted = notice {
            return self.begun(call, agent);
        }
        if let Notice::RunEnded(ending) = notice {
            return self.ended(call, ending);
        }
        let Some(task) = self.live.get_mut(call) else {
            return Vec::new();
        };
        let mut frames = task.narrator.tell(notice);
        if let Notice::ToolStarted(started) = notice {
            task.uses += 1;
            frames.push(system(Subtype::TaskProgress {
                task_id: task.agent.clone(),
                description: task.description.clone(),
                usage: task.usage(),
                last_tool_name: Some(started.name.as_str().to_owned()),
                tool_use_id: Some(call.to_owned()),
            }));
        }
        frames
    }

    fn begun(&mut self, call: &str, agent: &AgentId) -> Vec<Frame> {
        let description = self.announced.remove(call).unwrap_or_else(|| agent.as_str().to_owned());
        let is_left = self.ahead.remove(call);
        let task = Task {
            agent: agent.as_str().to_owned(),
            description: description.clone(),
            began: Instant::now(),
            uses: 0,
            tokens: 0,
            is_left,
            narrator: Narrator::nested(call.to_owned(), String::new(), self.tells_text),
        };
        self.live.insert(call.to_owned(), task);
        let mut frames = vec![system(Subtype::TaskStarted {
            task_id: agent.as_str().to_owned(),
            description,
            task_type: KIND,
            tool_use_id: Some(call.to_owned()),
        })];
        if is_left {
            frames.push(system(Subtype::BackgroundTasksChanged { tasks: self.left() }));
        }
        frames
    }

    fn ended(&mut self, call: &str, ending: &Ending) -> Vec<Frame> {
        let Some(mut task) = self.live.remove(call) else {
            return Vec::new();
        };
        task.tokens = ending.usage.input_total().0 + ending.usage.output.0;
        let status = match ending.terminal {
            Terminal::Completed => "completed",
            terminal if terminal.is_abort() => "stopped",
            _ => "failed",
        };
        let mut frames = vec![system(Subtype::TaskNotification {
            task_id: task.agent.clone(),
            status,
            output_file: String::new(),
            summary: format!("{}: {}", task.description, ending.why),
            usage: Some(task.usage()),
            tool_use_id: Some(call.to_owned()),
        })];
        if task.is_left {
            frames.push(system(Subtype::BackgroundTasksChanged { tasks: self.left() }));
        }
        frames
    }
}

impl Task {
    fn usage(&self) -> TaskUsage {
        let duration_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        TaskUsage { total_tokens: self.tokens, tool_uses: self.uses, duration_ms }
    }
}

const KIND: &str = "local_agent";
const COMMAND: &str = "local_bash";
