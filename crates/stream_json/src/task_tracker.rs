//! Tracks nested sessions and commands started by calls of the main session, and which of them run
//! in the background.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use serde_json::{Value, json};
use windlass_driver::{BackgroundTask, BackgroundTaskEnd};
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{AgentId, Notice, Terminal, ToolCall};

use crate::frame::{OutgoingFrame, SystemSubtype, TaskUsage};
use crate::notice_to_frame::{NoticeFrameBuilder, build_system_frame};

#[derive(Debug, Default)]
pub(crate) struct TaskTracker {
    /// Descriptions of calls whose sessions have not begun.
    announced_descriptions: BTreeMap<String, String>,
    /// By the call that started them.
    running_agents: BTreeMap<String, TrackedAgent>,
    /// Calls that were answered before the sessions they started had begun.
    answered_early: BTreeSet<String>,
    /// Commands in the background, by name, and the calls that started them.
    commands: BTreeMap<String, TrackedCommand>,
    /// Commands whose start was reported.
    reported_commands: BTreeSet<String>,
    includes_subagent_text: bool,
}

#[derive(Debug)]
struct TrackedCommand {
    description: String,
    call: String,
}

#[derive(Debug)]
struct TrackedAgent {
    agent: String,
    description: String,
    began: Instant,
    tool_uses: u64,
    tokens: u64,
    /// Its call was answered, but it is still running.
    is_in_background: bool,
    frame_builder: NoticeFrameBuilder,
}

impl TaskTracker {
    pub(crate) fn new(includes_subagent_text: bool) -> Self {
        Self { includes_subagent_text, ..Self::default() }
    }

    pub(crate) fn background_tasks_to_json(&self) -> Vec<Value> {
        let left = self.running_agents.values().filter(|task| task.is_in_background);
        let agents = left.map(|task| {
            json!({ "task_id": task.agent, "task_type": AGENT_TASK_TYPE, "description": task.description })
        });
        let commands = self.commands.iter().map(|(id, command)| {
            json!({ "task_id": id, "task_type": COMMAND_TASK_TYPE, "description": command.description })
        });
        agents.chain(commands).collect()
    }

    pub(crate) fn has_commands(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Reports the commands that a call left running.
    pub(crate) fn on_commands_started(
        &mut self,
        all: &[BackgroundTask],
        call: &str,
    ) -> Vec<OutgoingFrame> {
        let mut frames = Vec::new();
        for task in all.iter().filter(|task| !task.is_agent) {
            if !self.reported_commands.insert(task.id.clone()) {
                continue;
            }
            let description = task.command.clone();
            let call = call.to_owned();
            frames.push(build_system_frame(SystemSubtype::TaskStarted {
                task_id: task.id.clone(),
                description: description.clone(),
                task_type: COMMAND_TASK_TYPE,
                tool_use_id: Some(call.clone()),
            }));
            self.commands.insert(task.id.clone(), TrackedCommand { description, call });
        }
        if !frames.is_empty() {
            frames.push(build_system_frame(SystemSubtype::BackgroundTasksChanged {
                tasks: self.background_tasks_to_json(),
            }));
        }
        frames
    }

    pub(crate) fn on_commands_ended(&mut self, all: &[BackgroundTask]) -> Vec<OutgoingFrame> {
        let mut frames = Vec::new();
        for task in all {
            let (Some(words), Some(end)) = (&task.end_summary, task.end) else { continue };
            let Some(TrackedCommand { description, call }) = self.commands.remove(&task.id) else {
                continue;
            };
            frames.push(build_system_frame(SystemSubtype::TaskNotification {
                task_id: task.id.clone(),
                status: match end {
                    BackgroundTaskEnd::Completed => "completed",
                    BackgroundTaskEnd::Failed => "failed",
                    BackgroundTaskEnd::Stopped => "stopped",
                },
                output_file: task.output_path.to_string_lossy().into_owned(),
                summary: format!("{description}: {words}"),
                usage: None,
                tool_use_id: Some(call),
            }));
        }
        if !frames.is_empty() {
            frames.push(build_system_frame(SystemSubtype::BackgroundTasksChanged {
                tasks: self.background_tasks_to_json(),
            }));
        }
        frames
    }

    pub(crate) fn on_tool_started(&mut self, call: &ToolCall) {
        if call.name.as_str() == "Agent" {
            let input: Value = serde_json::from_str(call.input.as_str()).unwrap_or_default();
            let text = |key: &str| input.get(key).and_then(Value::as_str);
            let words = text("description").or(text("prompt")).unwrap_or("agent").to_owned();
            self.announced_descriptions.insert(call.id.as_str().to_owned(), words);
        }
    }

    /// A call of the main session has its outcome; an agent it started that still runs is in the
    /// background now.
    pub(crate) fn on_tool_ended(&mut self, call: &str) -> Vec<OutgoingFrame> {
        let is_ahead = self.announced_descriptions.remove(call).is_some();
        let Some(task) = self.running_agents.get_mut(call) else {
            if is_ahead {
                self.answered_early.insert(call.to_owned());
            }
            return Vec::new();
        };
        task.is_in_background = true;
        vec![build_system_frame(SystemSubtype::BackgroundTasksChanged {
            tasks: self.background_tasks_to_json(),
        })]
    }

    pub(crate) fn on_agent_notice(
        &mut self,
        call: &str,
        agent: &AgentId,
        notice: &Notice,
    ) -> Vec<OutgoingFrame> {
        if let Notice::RunStarted = notice {
            return self.on_agent_started(call, agent);
        }
        if let Notice::RunEnded(ending) = notice {
            return self.on_agent_ended(call, ending);
        }
        let Some(task) = self.running_agents.get_mut(call) else {
            return Vec::new();
        };
        let mut frames = task.frame_builder.notice_to_frames(notice);
        if let Notice::ToolStarted(started) = notice {
            task.tool_uses += 1;
            frames.push(build_system_frame(SystemSubtype::TaskProgress {
                task_id: task.agent.clone(),
                description: task.description.clone(),
                usage: task.usage(),
                last_tool_name: Some(started.name.as_str().to_owned()),
                tool_use_id: Some(call.to_owned()),
            }));
        }
        frames
    }

    fn on_agent_started(&mut self, call: &str, agent: &AgentId) -> Vec<OutgoingFrame> {
        let description =
            self.announced_descriptions.remove(call).unwrap_or_else(|| agent.as_str().to_owned());
        let is_left = self.answered_early.remove(call);
        let task = TrackedAgent {
            agent: agent.as_str().to_owned(),
            description: description.clone(),
            began: Instant::now(),
            tool_uses: 0,
            tokens: 0,
            is_in_background: is_left,
            frame_builder: NoticeFrameBuilder::for_subagent(
                call.to_owned(),
                String::new(),
                self.includes_subagent_text,
            ),
        };
        self.running_agents.insert(call.to_owned(), task);
        let mut frames = vec![build_system_frame(SystemSubtype::TaskStarted {
            task_id: agent.as_str().to_owned(),
            description,
            task_type: AGENT_TASK_TYPE,
            tool_use_id: Some(call.to_owned()),
        })];
        if is_left {
            frames.push(build_system_frame(SystemSubtype::BackgroundTasksChanged {
                tasks: self.background_tasks_to_json(),
            }));
        }
        frames
    }

    fn on_agent_ended(&mut self, call: &str, ending: &RunEnding) -> Vec<OutgoingFrame> {
        let Some(mut task) = self.running_agents.remove(call) else {
            return Vec::new();
        };
        task.tokens = ending.usage.input_total().0 + ending.usage.output.0;
        let status = match ending.terminal {
            Terminal::Completed => "completed",
            terminal if terminal.is_abort() => "stopped",
            Terminal::BlockingLimit
            | Terminal::PromptTooLong
            | Terminal::ImageError
            | Terminal::ModelError
            | Terminal::AbortedStreaming
            | Terminal::AbortedTools
            | Terminal::StopHookPrevented
            | Terminal::HookStopped
            | Terminal::MaxTurns
            | Terminal::MaxBudgetUsd => "failed",
        };
        let mut frames = vec![build_system_frame(SystemSubtype::TaskNotification {
            task_id: task.agent.clone(),
            status,
            output_file: String::new(),
            summary: format!("{}: {}", task.description, ending.why),
            usage: Some(task.usage()),
            tool_use_id: Some(call.to_owned()),
        })];
        if task.is_in_background {
            frames.push(build_system_frame(SystemSubtype::BackgroundTasksChanged {
                tasks: self.background_tasks_to_json(),
            }));
        }
        frames
    }
}

impl TrackedAgent {
    fn usage(&self) -> TaskUsage {
        let duration_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        TaskUsage { total_tokens: self.tokens, tool_uses: self.tool_uses, duration_ms }
    }
}

const AGENT_TASK_TYPE: &str = "local_agent";
const COMMAND_TASK_TYPE: &str = "local_bash";
