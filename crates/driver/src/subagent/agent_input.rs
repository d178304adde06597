//! The input of the `Agent` tool, and its description for the model.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use windlass_tool::input::{self, flag};
use windlass_vocabulary::{Effort, Json, ToolSpec};

use super::agent_definition::{AgentDefinition, GENERAL_AGENT};

/// Permission rules match this name literally.
pub(super) const AGENT_TOOL_NAME: &str = "Agent";
/// A longer result is shortened like any other.
const RESULT_BYTES_MAX: usize = 50_000;
/// Limit on the characters of a definition's description.
const DESCRIPTION_CHARS_MAX: usize = 300;

/// What the model asks for.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct AgentInput {
    /// The task in three to five words.
    pub(super) description: String,
    /// The whole task.
    pub(super) prompt: String,
    #[serde(default)]
    pub(super) subagent_type: Option<String>,
    /// Another model than usual.
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) effort: Option<AgentEffortInput>,
    /// Return at once; wait with Monitor, end with TaskStop.
    #[serde(default, deserialize_with = "flag")]
    pub(super) run_in_background: bool,
    /// Work in a git worktree of its own, made of the last commit.
    #[serde(default)]
    pub(super) isolation: Option<AgentIsolationInput>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum AgentEffortInput {
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

impl From<AgentEffortInput> for Effort {
    fn from(strength: AgentEffortInput) -> Self {
        match strength {
            AgentEffortInput::Low => Self::Low,
            AgentEffortInput::Medium => Self::Medium,
            AgentEffortInput::High => Self::High,
            AgentEffortInput::Xhigh => Self::Xhigh,
            AgentEffortInput::Max => Self::Max,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum AgentIsolationInput {
    Worktree,
}

impl AgentInput {
    pub(super) fn parse(spec: &ToolSpec, input: &Json) -> Result<Self, String> {
        let parsed: Self = input::parse_input(AGENT_TOOL_NAME, &spec.input_schema, input)?;
        match parsed.prompt.trim().is_empty() {
            true => Err(input::InputError::field("prompt", "empty").to_message(AGENT_TOOL_NAME)),
            false => Ok(parsed),
        }
    }
}

/// The description of the tool for the model.
pub(super) fn build_spec(definitions: &[AgentDefinition]) -> ToolSpec {
    let mut words = String::from(
        "Gives a task to an agent with a context of its own, and returns its final answer. It sees \
         nothing of this conversation: put everything it needs into the prompt, and say what to \
         answer with. Good for wide searches and for work that can be done side by side: several \
         calls in one message run at once.",
    );
    for definition in definitions {
        let about: String = definition.description.chars().take(DESCRIPTION_CHARS_MAX).collect();
        words.push_str(&format!("\n- {}: {about}", definition.name));
    }
    let mut spec = input::build_spec::<AgentInput>(AGENT_TOOL_NAME, &words, RESULT_BYTES_MAX);
    let names =
        std::iter::once(GENERAL_AGENT).chain(definitions.iter().map(|known| known.name.as_str()));
    let names: Vec<Value> = names.map(Value::from).collect();
    let mut schema: Value = serde_json::from_str(spec.input_schema.as_str()).unwrap_or_default();
    // The list of agents is known only when the session starts, so it is added to the schema here.
    if let Some(kind) =
        schema.pointer_mut("/properties/subagent_type").and_then(Value::as_object_mut)
    {
        kind.insert("enum".to_owned(), Value::Array(names));
        spec.input_schema = Json::from_checked(&schema.to_string());
    }
    spec
}
