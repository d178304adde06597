//! What is right, apart from the world: small checkers that look at every step.
//!
//! Each holds one promise and sees only what went in and what came out. The first that is broken
//! ends the simulation.

mod answer_checker;
mod budget_checker;
mod control_rule_checker;
mod ending_checker;
mod failure_checker;
mod pairing_checker;
mod pinned_message_checker;
mod prefix_checker;
mod provider_rules_checker;
mod stop_hook_checker;
mod tool_result_checker;
mod tool_start_checker;
mod user_input_checker;

use windlass_engine::bound::{Bound, bound};
use windlass_engine::{Control, Effect, Event, Limits, Settings, State};

#[derive(Debug)]
pub struct StepView<'a> {
    pub settings: &'a Settings,
    pub limits: &'a Limits,
    pub bound: &'a Bound,
    pub before: Control,
    pub event: &'a Event,
    pub is_stale: bool,
    pub effects: &'a [Effect],
    pub state: &'a State,
}

#[derive(Debug)]
pub struct StepCheckers {
    limits: Limits,
    bound: Bound,
    answers: answer_checker::AnswerChecker,
    ending: ending_checker::EndingChecker,
    user_input: user_input_checker::UserInputChecker,
    pinned_messages: pinned_message_checker::PinnedMessageChecker,
    provider_rules: provider_rules_checker::ProviderRulesChecker,
    prefix: prefix_checker::PrefixChecker,
    tool_results: tool_result_checker::ToolResultChecker,
    control_rules: control_rule_checker::ControlRuleChecker,
    tool_starts: tool_start_checker::ToolStartChecker,
    failures: failure_checker::FailureChecker,
}

impl StepCheckers {
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        Self {
            limits: settings.limits(),
            bound: bound(settings),
            answers: answer_checker::AnswerChecker::default(),
            ending: ending_checker::EndingChecker::default(),
            user_input: user_input_checker::UserInputChecker::default(),
            pinned_messages: pinned_message_checker::PinnedMessageChecker::default(),
            provider_rules: provider_rules_checker::ProviderRulesChecker::default(),
            prefix: prefix_checker::PrefixChecker::default(),
            tool_results: tool_result_checker::ToolResultChecker::default(),
            control_rules: control_rule_checker::ControlRuleChecker::default(),
            tool_starts: tool_start_checker::ToolStartChecker::default(),
            failures: failure_checker::FailureChecker::default(),
        }
    }

    /// Looks at one step. Says which promise was broken, and how.
    ///
    /// # Errors
    ///
    /// The first promise that was broken.
    pub fn check_step(&mut self, look: &ObservedStep<'_>) -> Result<(), String> {
        let ObservedStep { settings, before, event, is_stale, effects, state } = *look;
        let limits = &self.limits;
        let bound = &self.bound;
        let view = StepView { settings, limits, bound, before, event, is_stale, effects, state };
        let named = |name: &str, result: Result<(), String>| {
            result.map_err(|words| format!("{name}: {words}"))
        };
        named("pairing", pairing_checker::check(&view))?;
        named("answer", self.answers.check(&view))?;
        named("ending", self.ending.check(&view))?;
        named("budget", budget_checker::check(&view))?;
        named("stop_hook", stop_hook_checker::check(&view))?;
        named("input", self.user_input.check(&view))?;
        named("pinned_message", self.pinned_messages.check(&view))?;
        named("provider_rules", self.provider_rules.check(&view))?;
        named("result", self.tool_results.check(&view))?;
        named("prefix", self.prefix.check(&view))?;
        named("rule", self.control_rules.check(&view))?;
        named("start", self.tool_starts.check(&view))?;
        named("withheld", self.failures.check(&view))
    }
}

/// What [`StepCheckers::check_step`] is shown.
#[derive(Debug)]
pub struct ObservedStep<'a> {
    pub settings: &'a Settings,
    pub before: Control,
    pub event: &'a Event,
    pub is_stale: bool,
    pub effects: &'a [Effect],
    pub state: &'a State,
}
