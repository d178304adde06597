//! The settings of a session for callers: what they can read, and what they can change during it.

use std::fmt;
use std::sync::Arc;

use windlass_engine::Settings;
use windlass_permission::Policy;
use windlass_vocabulary::{
    Effort, MicroUsd, ModelFacts, ModelName, PermissionMode, ThinkingMode, ToolSpec,
};

/// The settings of a session at one moment, including what was allowed and loaded since it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSettingsView {
    /// The first model.
    pub model: ModelFacts,
    /// The fallback models, in order.
    pub fallbacks: Vec<ModelFacts>,
    /// The model for summaries and labels; `None` means the first one.
    pub small_model: Option<ModelFacts>,
    /// Permission mode, rules and working directories.
    pub policy: Policy,
    /// The tools offered, as described to the model.
    pub tools: Arc<[ToolSpec]>,
    /// The system prompt, without the lines that the session appends.
    pub system_prompt: Arc<str>,
    /// Instructions that are sent as a hidden first message.
    pub user_context: Option<Arc<str>>,
    /// How the model reasons before it answers.
    pub thinking: ThinkingMode,
    /// The requested effort; `None` means the provider's default.
    pub effort: Option<Effort>,
    /// The cost limit of the session.
    pub budget_max: Option<MicroUsd>,
    /// Compact the history when the context window fills up.
    pub auto_compact: bool,
}

impl From<&Settings> for SessionSettingsView {
    fn from(settings: &Settings) -> Self {
        Self {
            model: settings.model.clone(),
            fallbacks: settings.fallbacks.clone(),
            small_model: settings.small_model.clone(),
            policy: settings.policy.clone(),
            tools: Arc::clone(&settings.tools),
            system_prompt: Arc::clone(&settings.prompt.system_prompt),
            user_context: settings.prompt.user_context.clone(),
            thinking: settings.reasoning.thinking,
            effort: settings.reasoning.effort,
            budget_max: settings.budget.budget_max,
            auto_compact: settings.limits.auto_compact,
        }
    }
}

/// One change of a running session's settings, for [`Session::configure`](crate::Session::configure).
pub enum SettingsChange {
    /// Set the permission mode.
    Mode(PermissionMode),
    /// Change the policy. The function gets the policy of the moment it is applied, including rules
    /// that were added during the session.
    Policy(Box<dyn FnOnce(&mut Policy) + Send>),
    /// Set the first model. The number of fallbacks stays the same.
    Model(ModelFacts),
    /// Set the way of reasoning.
    Thinking(ThinkingMode),
    /// Set the effort; `None` means the provider's default.
    Effort(Option<Effort>),
    /// Replace all tools of MCP servers.
    McpTools(Vec<ToolSpec>),
}

impl SettingsChange {
    /// Changes the policy with a function.
    pub fn policy(change: impl FnOnce(&mut Policy) + Send + 'static) -> Self {
        Self::Policy(Box::new(change))
    }

    pub(crate) fn apply(self, settings: &mut Settings) {
        match self {
            Self::Mode(mode) => settings.policy.mode = mode,
            Self::Policy(change) => change(&mut settings.policy),
            Self::Model(facts) => settings.model = facts,
            Self::Thinking(thinking) => settings.reasoning.thinking = thinking,
            Self::Effort(effort) => settings.reasoning.effort = effort,
            Self::McpTools(specs) => {
                let own =
                    settings.tools.iter().filter(|spec| !spec.name.as_str().starts_with("mcp__"));
                settings.tools = own.cloned().chain(specs).collect();
            }
        }
    }
}

impl fmt::Debug for SettingsChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mode(mode) => f.debug_tuple("Mode").field(mode).finish(),
            Self::Policy(_) => f.write_str("Policy"),
            Self::Model(ModelFacts { name: ModelName(name), .. }) => {
                f.debug_tuple("Model").field(name).finish()
            }
            Self::Thinking(thinking) => f.debug_tuple("Thinking").field(thinking).finish(),
            Self::Effort(effort) => f.debug_tuple("Effort").field(effort).finish(),
            Self::McpTools(specs) => f.debug_tuple("McpTools").field(&specs.len()).finish(),
        }
    }
}
