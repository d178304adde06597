//! What a model may say when it wants an agent, and what it is told of that.

use serde::Deserialize;
use serde_json::json;
use windlass_vocabulary::{Json, ToolName, ToolSpec};

use super::definition::{AgentDefinition, GENERAL};

/// The tool's name, matched literally by rules.
pub(super) const NAME: &str = "Agent";
/// A result longer than this is shortened like any other.
const RESULT_BYTES_MAX: usize = 50_000;
/// Characters of a definition's description that are told.
const DESCRIPTION_CHARS_MAX: usize = 300;

/// What the model asks for.
#[derive(Debug, Deserialize)]
pub(super) struct Input {
    pub(super) description: String,
    pub(super) prompt: String,
    #[serde(default)]
    pub(super) subagent_type: Option<String>,
    #[serde(default)]
    pub(super) model: Option<String>,
}

impl Input {
    pub(super) fn parse(input: &Json) -> Result<Self, String> {
        let parsed: Self = serde_json::from_str(input.as_str()).map_err(|error| {
            format!(
                "The input of {NAME} is not valid: {error}. It needs `description` (a few words) \
                 and `prompt` (the whole task)."
            )
        })?;
        match parsed.prompt.trim().is_empty() {
            true => Err(format!("The input of {NAME} is not valid: field `prompt` is empty.")),
            false => Ok(parsed),
        }
    }
}

/// What the model is told of the tool.
pub(super) fn spec(definitions: &[AgentDefinition]) -> ToolSpec {
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
    let names: Vec<&str> = std::iter::once(GENERAL)
        .chain(definitions.iter().map(|definition| definition.name.as_str()))
        .collect();
    let schema = json!({
        "type": "object",
        "properties": {
            "description": { "type": "string", "description": "The task in three to five words." },
            "prompt": { "type": "string", "description": "The whole task." },
            "subagent_type": { "type": "string", "enum": names },
            "model": { "type": "string", "description": "Another model than usual." },
        },
        "required": ["description", "prompt"],
    });
    ToolSpec {
        name: ToolName::from(NAME),
        description: words.into(),
        input_schema: Json::from_checked(&schema.to_string()),
        result_bytes_max: RESULT_BYTES_MAX,
    }
}
