//! Models and limits for a session: what the flags and the table say, in the engine's own terms.
//!
//! Nothing is looked up here and no server is needed: `windlass bound` rests on the same settings.

use windlass_driver::{Limits, Registry, Settings};
use windlass_vocabulary::{Effort, MicroUsd, ModelName, Prices, ThinkingMode};

use crate::args::{EffortArg, LimitArgs, ModelArgs, ThinkingArg};
use crate::chance;
use crate::choice::{self, Cast, Chosen, Wishes};
use crate::refusal::Refusal;

/// Models and limits, and what is worth knowing about them.
pub(crate) fn settings(
    cast: &Cast,
    model: &ModelArgs,
    limit: &LimitArgs,
) -> Result<(Settings, Vec<String>), Refusal> {
    let mut settings = Settings::new(cast.first.facts());
    settings.fallbacks = cast.fallbacks.iter().map(Chosen::facts).collect();
    settings.small_model = cast.small.as_ref().map(Chosen::facts);
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
    settings.budget_max = budget(limit, cast, is_priced)?;
    settings.limits = Limits {
        turns_max: limit.max_turns.unwrap_or(settings.limits.turns_max),
        retries_max: limit.max_retries.unwrap_or(settings.limits.retries_max),
        ..settings.limits
    };
    settings.thinking = choice::thinking(cast, thinking(model));
    settings.effort = effort(model).or(settings.effort);
    settings.jitter_seed = chance::seed();
    let clearing = cast.all().filter(|chosen| chosen.model().clears_results == Some(true));
    settings.context.cleared_by_provider =
        clearing.map(|chosen| ModelName::from(chosen.name.as_str())).collect();
    let notes = cast.all().filter(|chosen| !chosen.known.is_listed);
    let notes = notes.map(|chosen| note(chosen, model.price.is_some())).collect();
    Ok((settings, notes))
}

/// A money limit cannot be kept for a model without a price.
fn budget(limit: &LimitArgs, cast: &Cast, is_priced: bool) -> Result<Option<MicroUsd>, Refusal> {
    let unpriced = cast.all().find(|chosen| chosen.model().price.is_none());
    match (limit.max_budget_usd, unpriced) {
        (Some(_), Some(chosen)) if !is_priced => Err(Refusal::usage(format!(
            "no price is known for the model {}, so --max-budget-usd could not be kept; give its \
             price in dollars per million tokens: --price IN,OUT",
            chosen.full_name()
        ))),
        (limit, _) => Ok(limit),
    }
}

/// What is assumed of a model that is not listed.
fn note(chosen: &Chosen, is_priced: bool) -> String {
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
pub(crate) fn wishes(model: &ModelArgs, registry: &Registry) -> Wishes {
    Wishes { tools: !registry.specs().is_empty(), thinking: thinking(model), effort: effort(model) }
}

/// Whether the models think, as far as it was said.
pub(crate) fn thinking(model: &ModelArgs) -> Option<ThinkingMode> {
    model.thinking.map(|thinking| match thinking {
        ThinkingArg::Adaptive => ThinkingMode::Adaptive,
        ThinkingArg::Disabled => ThinkingMode::Disabled,
    })
}

/// How hard they work, as far as it was said.
pub(crate) fn effort(model: &ModelArgs) -> Option<Effort> {
    model.effort.map(|effort| match effort {
        EffortArg::Low => Effort::Low,
        EffortArg::Medium => Effort::Medium,
        EffortArg::High => Effort::High,
        EffortArg::Xhigh => Effort::Xhigh,
        EffortArg::Max => Effort::Max,
    })
}
