//! The immutable snapshot taken when a run starts: limits, models, switches.
//!
//! Nothing in here changes inside a run. What a tool may change lives in `ToolContext`.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
pub use windlass_permission::{Policy, Rule, Rules};
use windlass_vocabulary::{
    AgentId, Effort, MicroUsd, Millis, ModelFacts, ModelName, Prices, ThinkingMode, Tokens,
    ToolSpec,
};

/// Everything a run's decisions rest on besides what happens in it.
///
/// The journal keeps it: every key and its order stay, so only neighbours are grouped, flattened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// The model, first choice of every run.
    pub model: ModelFacts,
    /// The models to ask when it is overloaded or gone, in order.
    pub fallbacks: Vec<ModelFacts>,
    /// The model that writes summaries and labels; `None` means the main one.
    pub small_model: Option<ModelFacts>,
    /// The counters' limits.
    pub limits: Limits,
    /// What the model reads before the conversation.
    #[serde(flatten)]
    pub prompt: PromptSettings,
    /// How much the model thinks.
    #[serde(flatten)]
    pub reasoning: ReasoningSettings,
    /// Tools on offer when the session starts.
    pub tools: Arc<[ToolSpec]>,
    /// Permissions when the session starts.
    pub policy: Policy,
    /// Which hook points have hooks.
    pub hooks: Hooks,
    /// Who we are.
    pub agent: Agent,
    /// The context levels.
    pub context: Context,
    /// What may be spent.
    #[serde(flatten)]
    pub budget: BudgetSettings,
    /// What can be switched on and off.
    #[serde(flatten)]
    pub switches: FeatureSwitches,
    /// What is seen to when a run is over.
    #[serde(default, skip_serializing_if = "After::is_off")]
    pub after: After,
    /// The waits between tries.
    #[serde(flatten)]
    pub retry: RetrySettings,
}

/// What the model reads before the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptSettings {
    /// The system prompt.
    pub system_prompt: Arc<str>,
    /// Appended to the system prompt as `key: value` lines.
    pub system_context: Vec<(String, String)>,
    /// Goes first, as a hidden user message.
    pub user_context: Option<Arc<str>>,
}

/// How much the model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReasoningSettings {
    /// Reasoning.
    pub thinking: ThinkingMode,
    /// Effort; the provider's own default when nothing was asked for.
    pub effort: Option<Effort>,
}

/// What may be spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetSettings {
    /// The most money this session may cost.
    pub budget_max: Option<MicroUsd>,
    /// Output tokens the run should use before it stops by itself.
    pub token_budget: Option<Tokens>,
}

/// What can be switched on and off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeatureSwitches {
    /// Run tools only after the answer is complete.
    pub batch_tools: bool,
    /// Ask the small model for a label of each batch of tools.
    pub tool_labels: bool,
    /// Look for memories and skills beside the first call.
    pub prefetch: bool,
    /// How circles are seen.
    #[serde(default, skip_serializing_if = "CircleGuard::is_calls")]
    pub circle_guard: CircleGuard,
    /// Leave out the words of a result that the provider names as what it refuses. Older journals
    /// were decided without.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub blanks_results: bool,
}

/// How the guard against circles counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CircleGuard {
    /// Each call, whatever else is called beside it: how journals that do not name a guard were
    /// decided, kept so that they play again as they were.
    #[default]
    Calls,
    /// Whole turns.
    Turns,
    /// Not at all: turns and money still bound the run.
    Off,
}

impl CircleGuard {
    fn is_calls(&self) -> bool {
        *self == Self::Calls
    }
}

/// The waits between tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetrySettings {
    /// Seed of the retry jitter: randomness is an input.
    pub jitter_seed: u64,
    /// The longest a run may spend waiting between tries, all waits together.
    pub wait_max: Millis,
}

/// The limits every counter of the loop runs against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Limits {
    /// Turns in a run.
    pub turns_max: u32,
    /// Models in the chain; filled in by [`Settings::limits`].
    pub models: u8,
    /// Tries after the first, per model and iteration.
    pub retries_max: u8,
    /// Overloads in a row before the next model is asked.
    pub overloads_max: u8,
    /// Resumed answers after a pause, per iteration.
    pub pauses_max: u8,
    /// Resumes of a cut answer between two good turns.
    pub output_recoveries_max: u8,
    /// Objections of stop hooks in a run.
    pub stop_blocks_max: u8,
    /// The same objection, one after the other.
    pub stop_same_max: u8,
    /// Token-budget continuations in a run; filled in as 0 when there is no token budget.
    pub nudges_max: u8,
    /// Summary failures in a row that switch auto-compaction off.
    pub summary_failures_max: u8,
    /// Compactions in quick succession.
    #[serde(flatten)]
    pub refill: RefillLimits,
    /// Shared calls that may run at once.
    pub tools_parallel_max: u8,
    /// Is auto-compaction on?
    pub auto_compact: bool,
    /// Is reactive compaction available?
    pub reactive_compact: bool,
    /// Are there stop hooks?
    pub stop_hooks: bool,
}

/// Compactions in quick succession: the context fills up again as soon as it was made smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RefillLimits {
    /// Compactions in quick succession that stop the run.
    pub refills_max: u8,
    /// What counts as quick: fewer turns than this since the last one.
    pub refill_turns: u8,
}

/// Which hook points have hooks; a point without hooks costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hooks {
    /// Before a tool.
    pub pre_tool_use: bool,
    /// They may defer a call: the caller can resume the session later.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub can_defer: bool,
    /// After a tool that succeeded.
    pub post_tool_use: bool,
    /// After a tool that failed.
    pub post_tool_use_failure: bool,
    /// After all calls of an answer.
    #[serde(default)]
    pub post_tool_batch: bool,
    /// After an error ended the run.
    pub stop_failure: bool,
    /// Before history is compacted.
    pub pre_compact: bool,
    /// After history was compacted.
    pub post_compact: bool,
}

/// What is seen to when a run is over. All of it beside the conversation; nobody waits for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct After {
    /// Ask for a name, once in a session.
    pub title: bool,
    /// Ask what the user may want to say next.
    pub suggestion: bool,
    /// Ask what is worth knowing in later sessions.
    pub memory: bool,
    /// Have such notes made shorter when they have grown long.
    pub consolidation: bool,
    /// Keep what questions beside the conversation are asked of.
    pub questions: bool,
}

impl After {
    /// Nothing is seen to.
    #[must_use]
    pub fn is_off(&self) -> bool {
        *self == Self::default()
    }

    /// Model calls after one run, at the most.
    #[must_use]
    pub fn calls(&self) -> u64 {
        [self.title, self.suggestion, self.memory, self.consolidation]
            .into_iter()
            .map(u64::from)
            .sum()
    }
}

/// Who runs this loop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// Its id.
    pub id: AgentId,
    /// A nested session: no token budget, its own stop hook.
    pub is_subagent: bool,
}

/// Thresholds of the context levels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// Level 1: bytes of all results in one message.
    pub message_result_bytes_max: usize,
    /// Level 1: bytes kept at each end of a shortened result.
    pub result_bytes_kept: usize,
    /// Level 1: where the driver keeps full texts, as the model must spell it.
    pub spill_directory: Arc<str>,
    /// Level 2: turns kept; `None` switches the level off.
    pub turns_kept: Option<u32>,
    /// Level 3: models whose provider takes old results out on its side when asked to.
    pub cleared_by_provider: Vec<ModelName>,
    /// Level 3: begins at this share of the window, in percent.
    pub microcompact_percent: u8,
    /// Levels 3 and 4 leave this many recent turns alone.
    pub recent_turns: u32,
    /// Level 3: a result at most this long is not verbose.
    pub verbose_bytes: usize,
    /// Level 4: begins at this share of the window, in percent; 101 switches the level off.
    pub collapse_percent: u8,
    /// Level 5: room kept for the summary itself.
    pub summary_tokens: Tokens,
}

impl Limits {
    /// The default profile.
    pub const DEFAULT: Self = Self {
        turns_max: 500,
        models: 1,
        retries_max: 10,
        overloads_max: 3,
        pauses_max: 8,
        output_recoveries_max: 3,
        stop_blocks_max: 8,
        stop_same_max: 3,
        nudges_max: 32,
        summary_failures_max: 3,
        refill: RefillLimits { refills_max: 3, refill_turns: 3 },
        tools_parallel_max: 10,
        auto_compact: true,
        reactive_compact: true,
        stop_hooks: false,
    };

    /// Turns after which a compaction is no longer a refill; at least one, or every iteration could
    /// compact for ever.
    #[must_use]
    pub fn refill_span(&self) -> u8 {
        self.refill.refill_turns.max(1)
    }
}

impl Default for Context {
    fn default() -> Self {
        Self {
            message_result_bytes_max: 200_000,
            result_bytes_kept: 8_000,
            spill_directory: Arc::from("spill"),
            turns_kept: None,
            cleared_by_provider: Vec::new(),
            microcompact_percent: 60,
            recent_turns: 5,
            verbose_bytes: 2_000,
            collapse_percent: 75,
            summary_tokens: Tokens(16_000),
        }
    }
}

impl Settings {
    /// A session with one model, no tools and the default limits.
    #[must_use]
    pub fn new(model: ModelFacts) -> Self {
        Self {
            model,
            fallbacks: Vec::new(),
            small_model: None,
            limits: Limits::DEFAULT,
            prompt: PromptSettings {
                system_prompt: Arc::from(""),
                system_context: Vec::new(),
                user_context: None,
            },
            reasoning: ReasoningSettings { thinking: ThinkingMode::Unset, effort: None },
            tools: Arc::from([]),
            policy: Policy::default(),
            hooks: Hooks::default(),
            agent: Agent { id: AgentId::from("main"), is_subagent: false },
            context: Context::default(),
            budget: BudgetSettings::default(),
            switches: FeatureSwitches {
                circle_guard: CircleGuard::Turns,
                blanks_results: true,
                ..FeatureSwitches::default()
            },
            after: After::default(),
            retry: RetrySettings { jitter_seed: 0, wait_max: Millis(30 * 60 * 1_000) },
        }
    }

    /// The limits as the rules see them: what follows from other settings filled in.
    #[must_use]
    pub fn limits(&self) -> Limits {
        let has_budget = self.budget.token_budget.is_some() && !self.agent.is_subagent;
        Limits {
            models: u8::try_from(self.fallbacks.len() + 1).unwrap_or(u8::MAX),
            nudges_max: if has_budget { self.limits.nudges_max } else { 0 },
            ..self.limits
        }
    }

    /// The model at this place of the chain; the last one if the place is beyond it.
    #[must_use]
    pub fn model_at(&self, place: u8) -> &ModelFacts {
        match usize::from(place).checked_sub(1) {
            None => &self.model,
            Some(index) => {
                self.fallbacks.get(index).or(self.fallbacks.last()).unwrap_or(&self.model)
            }
        }
    }
}

/// No price. A nested session's own ledger knows what it spends.
pub(crate) const FREE: Prices = Prices { input: 0, output: 0, cache_write: 0, cache_read: 0 };
