//! What an agent is: its system prompt, and what it may use.

use std::time::Duration;

use serde_json::Value;
use windlass_vocabulary::{ModelName, ToolName};

/// An agent that can be asked for by its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentDefinition {
    /// Its name.
    pub name: String,
    /// When to use it, for the model that may.
    pub description: String,
    /// Its system prompt; the parent's when there is none.
    pub prompt: Option<String>,
    /// The tools it has, of those the parent has; all of them when nothing is said.
    pub tools: Option<Vec<ToolName>>,
    /// The model it asks; the parent's when nothing is said.
    pub model: Option<ModelName>,
    /// The most turns it may take; the parent's limit when nothing is said.
    pub turns_max: Option<u32>,
    /// It always runs in the background.
    pub background: bool,
    /// Where it works.
    pub isolation: AgentIsolation,
    /// Tools it does not have, whatever the parent has.
    pub excluded_tools: Vec<ToolName>,
    /// Hooks of its own, as they are configured.
    pub hooks: Option<Value>,
}

/// Where an agent works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AgentIsolation {
    /// Where its parent does.
    #[default]
    None,
    /// In a checkout of its own, made of the last commit of its parent's repository.
    Worktree,
}

/// The agents of a session and the bounds they run in.
#[derive(Clone, Debug)]
pub struct SubagentConfig {
    /// Agents with a name, after the general one that is always there.
    pub definitions: Vec<AgentDefinition>,
    /// The model that all of them ask, whatever their definition or the call says.
    pub model_override: Option<ModelName>,
    /// How deep sessions may nest.
    pub depth_max: u8,
    /// How many may run at once, all depths together.
    pub running_max: usize,
    /// The longest one may take.
    pub time_max: Duration,
}

/// The name of the agent that is like its parent.
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
