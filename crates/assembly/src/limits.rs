//! Models and limits for a session: what the flags and the table say, in the engine's own terms.
//!
//! Nothing is looked up here and no server is needed: `windlass bound` uses the same settings.

use windlass_driver::ToolRegistry;
use windlass_driver::engine_settings::{Limits, Settings};
use windlass_vocabulary::{MicroUsd, ModelName, Prices};

use crate::options::LimitOptions;
use windlass_host::command_error::CommandError;
use windlass_host::random;
use windlass_provider::model_choice;
use windlass_provider::model_choice::{ChosenModel, ModelChain, ModelRequirements};
use windlass_provider::model_options::ModelOptions;

pub fn build_engine_settings(
    model_chain: &ModelChain,
    model: &ModelOptions,
    limit: &LimitOptions,
) -> Result<(Settings, Vec<String>), CommandError> {
    let mut settings = Settings::new(model_chain.primary.facts());
    settings.fallbacks = model_chain.fallbacks.iter().map(ChosenModel::facts).collect();
    settings.small_model = model_chain.small.as_ref().map(ChosenModel::facts);
    let mut is_priced = model_chain.all().all(|chosen| chosen.model().price.is_some());
    if let Some(prices) = model.price {
        settings.model.prices = prices;
        let others = settings.fallbacks.iter_mut().zip(&model_chain.fallbacks);
        for (facts, _) in others.filter(|(_, chosen)| chosen.model().price.is_none()) {
            facts.prices = prices;
        }
        if let (Some(facts), Some(chosen)) = (&mut settings.small_model, &model_chain.small)
            && chosen.model().price.is_none()
        {
            facts.prices = prices;
        }
        is_priced = true;
    }
    settings.budget.budget_max = check_budget(limit, model_chain, is_priced)?;
    settings.limits = Limits {
        turns_max: limit.max_turns.unwrap_or(settings.limits.turns_max),
        retries_max: limit.max_retries.unwrap_or(settings.limits.retries_max),
        ..settings.limits
    };
    settings.reasoning.thinking = model_choice::resolve_thinking_mode(model_chain, model.thinking);
    settings.reasoning.effort = model.effort.or(settings.reasoning.effort);
    settings.retry.jitter_seed = random::generate_seed();
    let clearing = model_chain.all().filter(|chosen| chosen.model().clears_results == Some(true));
    settings.context.cleared_by_provider =
        clearing.map(|chosen| ModelName::from(chosen.name.as_str())).collect();
    let notes = model_chain.all().filter(|chosen| !chosen.resolved.is_listed);
    let notes =
        notes.map(|chosen| describe_unlisted_model(chosen, model.price.is_some())).collect();
    Ok((settings, notes))
}

/// A money limit cannot be kept for a model without a price.
fn check_budget(
    limit: &LimitOptions,
    model_chain: &ModelChain,
    is_priced: bool,
) -> Result<Option<MicroUsd>, CommandError> {
    let unpriced = model_chain.all().find(|chosen| chosen.model().price.is_none());
    match (limit.max_budget_usd, unpriced) {
        (Some(_), Some(chosen)) if !is_priced => Err(CommandError::usage(format!(
            "no price is known for the model {}, so --max-budget-usd cannot be applied; give its \
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

pub(crate) fn build_model_requirements(
    model: &ModelOptions,
    registry: &ToolRegistry,
) -> ModelRequirements {
    ModelRequirements {
        tools: !registry.specs().is_empty(),
        thinking: model.thinking,
        effort: model.effort,
    }
}
