//! Calls under way, and the sessions they started.

use std::collections::VecDeque;
use std::time::Duration;

use windlass_vocabulary::{AgentId, Notice, ToolCall};

use crate::{text, tool};

/// A call under way.
#[derive(Clone, Debug)]
pub struct Running {
    /// The call.
    pub call: ToolCall,
    /// What it said last.
    pub tail: VecDeque<String>,
    /// When it began.
    pub since: Duration,
    /// Sessions it started.
    pub children: Vec<Child>,
}

/// A session that a call started.
#[derive(Clone, Debug)]
pub struct Child {
    /// Who.
    pub agent: AgentId,
    /// What it does now.
    pub doing: String,
    /// Calls it has made.
    pub calls: usize,
    /// Is it done?
    pub is_over: bool,
    /// How deep below the call.
    pub depth: usize,
}

impl Running {
    /// One that just began.
    #[must_use]
    pub fn new(call: ToolCall, since: Duration) -> Self {
        Self { call, tail: VecDeque::new(), since, children: Vec::new() }
    }

    /// It says how far it is.
    pub fn progressed(&mut self, words: &str) {
        for line in words.lines().map(text::one_line).filter(|line| !line.is_empty()) {
            if self.tail.back() != Some(&line) {
                self.tail.push_back(line);
            }
        }
        while self.tail.len() > TAIL_MAX {
            self.tail.pop_front();
        }
    }

    /// One of its sessions tells something.
    pub fn nested(&mut self, agent: &AgentId, notice: &Notice, (depth, folder): (usize, &str)) {
        if let Notice::Nested { agent, notice, .. } = notice {
            return self.nested(agent, notice, (depth + 1, folder));
        }
        let at = self.children.iter().position(|child| child.agent == *agent);
        let at = at.unwrap_or_else(|| {
            let (agent, doing) = (agent.clone(), "begins".to_owned());
            self.children.push(Child { agent, doing, calls: 0, is_over: false, depth });
            self.children.len() - 1
        });
        let Some(child) = self.children.get_mut(at) else { return };
        match notice {
            Notice::ToolStarted(call) => {
                child.calls += 1;
                child.doing = tool::title(call, folder);
            }
            Notice::ToolEnded { .. } => child.doing = "thinks".to_owned(),
            Notice::RunEnded(ending) => {
                child.is_over = true;
                let is_well = !ending.terminal.is_error();
                child.doing = if is_well { "done".to_owned() } else { text::one_line(&ending.why) };
            }
            _ => {}
        }
    }
}

/// Lines of output that are shown while a command runs.
const TAIL_MAX: usize = 3;
