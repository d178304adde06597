//! Calls under way, and the sessions they started.

use std::collections::VecDeque;
use std::time::Duration;

use windlass_vocabulary::{AgentId, Notice, ToolCall};

use crate::{text, tool_call_view};

/// A call under way.
#[derive(Clone, Debug)]
pub struct RunningCall {
    /// The call.
    pub call: ToolCall,
    /// What it said last.
    pub output_tail: VecDeque<String>,
    /// When it began.
    pub started: Duration,
    /// Sessions it started.
    pub subagents: Vec<SubagentProgress>,
}

/// A session that a call started.
#[derive(Clone, Debug)]
pub struct SubagentProgress {
    /// Who.
    pub agent: AgentId,
    /// What it does now.
    pub activity: String,
    /// Calls it has made.
    pub calls: usize,
    /// Is it done?
    pub is_over: bool,
    /// How deep below the call.
    pub depth: usize,
}

impl RunningCall {
    /// One that just began.
    #[must_use]
    pub fn new(call: ToolCall, started: Duration) -> Self {
        Self { call, output_tail: VecDeque::new(), started, subagents: Vec::new() }
    }

    /// It says how far it is.
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

    /// One of its sessions tells something.
    pub fn update_subagent(
        &mut self,
        agent: &AgentId,
        notice: &Notice,
        (depth, folder): (usize, &str),
    ) {
        if let Notice::SubagentNotice { agent, notice, .. } = notice {
            return self.update_subagent(agent, notice, (depth + 1, folder));
        }
        let at = self.subagents.iter().position(|child| child.agent == *agent);
        let at = at.unwrap_or_else(|| {
            let (agent, doing) = (agent.clone(), "begins".to_owned());
            self.subagents.push(SubagentProgress {
                agent,
                activity: doing,
                calls: 0,
                is_over: false,
                depth,
            });
            self.subagents.len() - 1
        });
        let Some(child) = self.subagents.get_mut(at) else { return };
        match notice {
            Notice::ToolStarted(call) => {
                child.calls += 1;
                child.activity = tool_call_view::format_title(call, folder);
            }
            Notice::ToolEnded { .. } => child.activity = "thinks".to_owned(),
            Notice::RunEnded(ending) => {
                child.is_over = true;
                let is_well = !ending.terminal.is_error();
                child.activity =
                    if is_well { "done".to_owned() } else { text::to_one_line(&ending.why) };
            }
            _ => {}
        }
    }
}

/// Lines of output that are shown while a command runs.
const TAIL_MAX: usize = 3;
