//! Calls under way, and the subagents they started.

use std::collections::VecDeque;
use std::time::Duration;

use windlass_vocabulary::{AgentId, Notice, ToolCall};

use crate::{text, tool_call_view, words};

#[derive(Clone, Debug)]
pub struct RunningCall {
    pub call: ToolCall,
    /// The last lines of its output.
    pub output_tail: VecDeque<String>,
    /// Measured like `App::now`.
    pub started: Duration,
    pub subagents: Vec<SubagentProgress>,
}

#[derive(Clone, Debug)]
pub struct SubagentProgress {
    pub agent: AgentId,
    /// What it does now, as it is shown.
    pub activity: String,
    /// How many calls it has made.
    pub calls: usize,
    pub is_over: bool,
    /// Zero for a subagent of the call itself.
    pub depth: usize,
}

impl RunningCall {
    pub fn new(call: ToolCall, started: Duration) -> Self {
        Self { call, output_tail: VecDeque::new(), started, subagents: Vec::new() }
    }

    pub fn push_output(&mut self, words: &str) {
        for line in words.lines().map(text::to_one_line).filter(|line| !line.is_empty()) {
            if self.output_tail.back() != Some(&line) {
                self.output_tail.push_back(line);
            }
        }
        while self.output_tail.len() > TAIL_MAX {
            self.output_tail.pop_front();
        }
    }

    pub fn update_subagent(
        &mut self,
        agent: &AgentId,
        notice: &Notice,
        depth: usize,
        folder: &str,
    ) {
        if let Notice::SubagentNotice { agent, notice, .. } = notice {
            return self.update_subagent(agent, notice, depth + 1, folder);
        }
        let at = self.subagents.iter().position(|child| child.agent == *agent);
        let at = at.unwrap_or_else(|| {
            self.subagents.push(SubagentProgress {
                agent: agent.clone(),
                activity: words::SUBAGENT_STARTING.to_owned(),
                calls: 0,
                is_over: false,
                depth,
            });
            self.subagents.len() - 1
        });
        let Some(child) = self.subagents.get_mut(at) else { return };
        if let Notice::ToolStarted(call) = notice {
            child.calls += 1;
            child.activity = tool_call_view::format_title(call, folder);
        } else if let Notice::ToolEnded { .. } = notice {
            child.activity = words::SUBAGENT_THINKING.to_owned();
        } else if let Notice::RunEnded(ending) = notice {
            child.is_over = true;
            child.activity = match ending.terminal.is_error() {
                false => words::SUBAGENT_DONE.to_owned(),
                true => text::to_one_line(&ending.why),
            };
        }
    }
}

const TAIL_MAX: usize = 3;
