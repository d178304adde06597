//! Definition of an agent: its system prompt, and what it may use.

use std::time::Duration;

use serde_json::Value;
use windlass_vocabulary::{ModelName, ToolName};

/// An agent that can be requested by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentDefinition {
    /// The model requests it by this name.
    pub name: String,
    /// When to use it, for the model.
    pub description: String,
    /// Its system prompt; `None` means the parent's.
    pub prompt: Option<String>,
    /// Its tools, out of the parent's; `None` means all of them.
    pub tools: Option<Vec<ToolName>>,
    /// Its model; `None` means the parent's.
    pub model: Option<ModelName>,
    /// Its limit on turns; `None` means the parent's.
    pub turns_max: Option<u32>,
    /// It always runs in the background.
    pub background: bool,
    /// Whether its changes stay apart from those of the parent.
    pub isolation: AgentIsolation,
    /// Tools it does not get, even if the parent has them.
    pub excluded_tools: Vec<ToolName>,
    /// Hooks of its own, as configured.
    pub hooks: Option<Value>,
}

/// Where an agent works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentIsolation {
    /// In the parent's directory.
    #[default]
    None,
    /// In a git worktree of its own, at the last commit of the parent's repository.
    Worktree,
}

/// The agents of a session and their limits.
#[derive(Clone, Debug)]
pub struct SubagentConfig {
    /// Named agents, besides the general one that always exists.
    pub definitions: Vec<AgentDefinition>,
    /// The model for all agents. Overrides their definition and the call.
    pub model_override: Option<ModelName>,
    /// How deep sessions may nest.
    pub depth_max: u8,
    /// How many may run at once, at all depths together.
    pub running_max: usize,
    /// Limit on the run time of one agent.
    pub time_max: Duration,
}

/// The agent with the same prompt and tools as its parent.
pub(crate) const GENERAL_AGENT: &str = "general-purpose";

impl Default for SubagentConfig {
    fn default() -> Self {
        Self {
            definitions: Vec::new(),
            model_override: None,
            depth_max: 3,
            running_max: 20,
            time_max: Duration::from_secs(60 * 60),
        }
    }
}

impl SubagentConfig {
    /// The agent of this name, or what is wrong with the name.
    pub(crate) fn find_definition(&self, name: Option<&str>) -> Result<AgentDefinition, String> {
        let name = name.unwrap_or(GENERAL_AGENT);
        if let Some(known) = self.definitions.iter().find(|known| known.name == name) {
            return Ok(known.clone());
        }
        if name == GENERAL_AGENT {
            return Ok(AgentDefinition {
                name: GENERAL_AGENT.to_owned(),
                ..AgentDefinition::default()
            });
        }
        let names: Vec<&str> = std::iter::once(GENERAL_AGENT)
            .chain(self.definitions.iter().map(|known| known.name.as_str()))
            .collect();
        Err(format!("There is no agent `{name}`. `subagent_type` is one of: {}.", names.join(", ")))
    }
}
