//! Models and limits for a session: what the flags and the table say, in the engine's own terms.
//!
//! Nothing is looked up here and no server is needed: `windlass bound` rests on the same settings.

use windlass_driver::ToolRegistry;
use windlass_driver::engine_settings::{Limits, Settings};
use windlass_vocabulary::{Effort, MicroUsd, ModelName, Prices, ThinkingMode};

use crate::args::{EffortArg, LimitArgs, ModelArgs, ThinkingArg};
use crate::command_error::CommandError;
use crate::model_choice::{self, ChosenModel, ModelChain, ModelRequirements};
use crate::random;

/// Models and limits, and what is worth knowing about them.
pub(crate) fn build_engine_settings(
    cast: &ModelChain,
    model: &ModelArgs,
    limit: &LimitArgs,
) -> Result<(Settings, Vec<String>), CommandError> {
    let mut settings = Settings::new(cast.primary.facts());
    settings.fallbacks = cast.fallbacks.iter().map(ChosenModel::facts).collect();
    settings.small_model = cast.small.as_ref().map(ChosenModel::facts);
    let mut is_priced = cast.all().all(|chosen| chosen.model().price.is_some());
    if let Some(prices) = model.price {
        settings.model.prices = prices;
        let others = settings.fallbacks.iter_mut().zip(&cast.fallbacks);
        for (facts, _) in others.filter(|(_, chosen)| chosen.model().price.is_none()) {
            facts.prices = prices;
        }
        if let (Some(facts), Some(chosen)) = (&mut settings.small_model, &cast.small)
            && chosen.model().price.is_none()
        {
            facts.prices = prices;
        }
        is_priced = true;
    }
    settings.budget_max = check_budget(limit, cast, is_priced)?;
    settings.limits = Limits {
        turns_max: limit.max_turns.unwrap_or(settings.limits.turns_max),
        retries_max: limit.max_retries.unwrap_or(settings.limits.retries_max),
        ..settings.limits
    };
    settings.thinking = model_choice::resolve_thinking_mode(cast, to_thinking_mode(model));
    settings.effort = to_effort(model).or(settings.effort);
    settings.jitter_seed = random::generate_seed();
    let clearing = cast.all().filter(|chosen| chosen.model().clears_results == Some(true));
    settings.context.cleared_by_provider =
        clearing.map(|chosen| ModelName::from(chosen.name.as_str())).collect();
    let notes = cast.all().filter(|chosen| !chosen.resolved.is_listed);
    let notes =
        notes.map(|chosen| describe_unlisted_model(chosen, model.price.is_some())).collect();
    Ok((settings, notes))
}

/// A money limit cannot be kept for a model without a price.
fn check_budget(
    limit: &LimitArgs,
    cast: &ModelChain,
    is_priced: bool,
) -> Result<Option<MicroUsd>, CommandError> {
    let unpriced = cast.all().find(|chosen| chosen.model().price.is_none());
    match (limit.max_budget_usd, unpriced) {
        (Some(_), Some(chosen)) if !is_priced => Err(CommandError::usage(format!(
            "no price is known for the model {}, so --max-budget-usd could not be kept; give its \
             price in dollars per million tokens: --price IN,OUT",
            chosen.full_name()
        ))),
        (limit, _) => Ok(limit),
    }
}

/// What is assumed of a model that is not listed.
fn describe_unlisted_model(chosen: &ChosenModel, is_priced: bool) -> String {
    let facts = chosen.facts();
    let price = match chosen.model().price {
        Some(price) if price == Prices::default() => "no cost",
        Some(_) => "the price of its provider",
        None if is_priced => "the price given",
        None => "no price",
    };
    format!(
        "the model {} is not in the table: a window of {} tokens, at most {} of output and {price} \
         are assumed",
        chosen.full_name(),
        facts.window.0,
        facts.output_max.0
    )
}

/// What is wanted of the models.
pub(crate) fn build_model_requirements(
    model: &ModelArgs,
    registry: &ToolRegistry,
) -> ModelRequirements {
    ModelRequirements {
        tools: !registry.specs().is_empty(),
        thinking: to_thinking_mode(model),
        effort: to_effort(model),
    }
}

/// Whether the models think, as far as it was said.
pub(crate) fn to_thinking_mode(model: &ModelArgs) -> Option<ThinkingMode> {
    model.thinking.map(|thinking| match thinking {
        ThinkingArg::Adaptive => ThinkingMode::Adaptive,
        ThinkingArg::Disabled => ThinkingMode::Disabled,
    })
}

/// How hard they work, as far as it was said.
pub(crate) fn to_effort(model: &ModelArgs) -> Option<Effort> {
    model.effort.map(|effort| match effort {
        EffortArg::Low => Effort::Low,
        EffortArg::Medium => Effort::Medium,
        EffortArg::High => Effort::High,
        EffortArg::Xhigh => Effort::Xhigh,
        EffortArg::Max => Effort::Max,
    })
}
