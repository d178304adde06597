//! What callers read of a session's settings, and what they may change while it runs.

use std::fmt;
use std::sync::Arc;

use windlass_engine::Settings;
use windlass_permission::Policy;
use windlass_vocabulary::{
    Effort, MicroUsd, ModelFacts, ModelName, PermissionMode, ThinkingMode, ToolSpec,
};

/// The settings of a session at one moment, with everything that was allowed and loaded since it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSettingsView {
    /// The model that is asked first.
    pub model: ModelFacts,
    /// The models that are asked when the first one is overloaded or gone, in order.
    pub fallbacks: Vec<ModelFacts>,
    /// The model that writes summaries and labels; `None` means the main one.
    pub small_model: Option<ModelFacts>,
    /// Permission mode, rules and working directories.
    pub policy: Policy,
    /// The tools on offer, as the model is told of them.
    pub tools: Arc<[ToolSpec]>,
    /// The system prompt, without the lines the session appends.
    pub system_prompt: Arc<str>,
    /// Standing instructions, sent as a hidden first message.
    pub user_context: Option<Arc<str>>,
    /// Whether and how much the model reasons before it answers.
    pub thinking: ThinkingMode,
    /// The effort asked for; `None` leaves it to the provider.
    pub effort: Option<Effort>,
    /// The most money the session may cost.
    pub budget_max: Option<MicroUsd>,
    /// History is compacted when the window fills up.
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
    /// Another permission mode.
    Mode(PermissionMode),
    /// Any change of the policy. The function is given the policy of the moment it takes effect, with
    /// the rules that were added on the way.
    Policy(Box<dyn FnOnce(&mut Policy) + Send>),
    /// Another first model. The number of fallbacks stays as it is.
    Model(ModelFacts),
    /// Another way to reason.
    Thinking(ThinkingMode),
    /// Another effort; `None` leaves it to the provider.
    Effort(Option<Effort>),
    /// These tools of MCP servers in the place of all that are on offer now.
    McpTools(Vec<ToolSpec>),
}

impl SettingsChange {
    /// A change of the policy, by a function.
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
