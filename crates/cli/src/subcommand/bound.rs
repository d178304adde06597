//! `windlass bound`: the worst case for the settings given, as text or JSON. The engine computes the
//! numbers.

use serde_json::json;
use windlass_driver::engine_settings::{Bound, Settings, bound};
use windlass_provider::model_options::ModelOptions;
use windlass_vocabulary::{MicroUsd, Prices, Tokens, Usage};

use crate::args::BoundArgs;
use crate::words;
use windlass_assembly::limits::build_engine_settings;
use windlass_host::command_error::CommandError;
use windlass_host::display::dollars_json::dollars_to_json;
use windlass_host::display::human_format::{format_count, format_money};
use windlass_host::environment::EnvLookup;
use windlass_provider::config::Config;
use windlass_provider::model_choice;
use windlass_provider::model_choice::ChosenModel;

pub(crate) fn run(args: &BoundArgs, lookup: &impl EnvLookup) -> Result<String, CommandError> {
    let config = Config::load(lookup)?;
    let model = ModelOptions::from(args.model.clone());
    let chain = model_choice::choose_model_chain(&model, &config, lookup)?;
    let (settings, _) = build_engine_settings(&chain, &model, &args.limit.clone().into())?;
    let mut worst = bound(&settings);
    // To the engine an unknown price is a price of zero; the model table distinguishes them.
    let is_unpriced =
        |chosen: &ChosenModel| chosen.model().price.is_none() && args.model.price.is_none();
    if chain.all().any(is_unpriced) {
        worst.money = None;
    } else {
        worst.money = worst.money.or(Some(MicroUsd(0)));
    }
    let usual = worst.money.map(|_| estimate_usual_task(&settings.model.prices));
    Ok(match args.json {
        true => format!("{}\n", bound_to_json(&settings, &worst, usual)),
        false => render_bound(&settings, &worst, usual),
    })
}

/// What a task of ordinary length costs: the history is read from the cache, what is new is written to
/// it.
fn estimate_usual_task(prices: &Prices) -> MicroUsd {
    let mut cost = MicroUsd(0);
    let mut cached = 0;
    for call in 0..USUAL_CALLS {
        let input = USUAL_INPUT_FIRST + call * USUAL_INPUT_GROWTH;
        let mut usage = Usage { output: Tokens(USUAL_OUTPUT), ..Usage::default() };
        // A provider without these prices does not cache, or caches for nothing.
        match prices.cache_read {
            0 => usage.input = Tokens(input),
            _ => usage.cache_read = Tokens(cached),
        }
        match (prices.cache_read, prices.cache_write) {
            (0, _) => {}
            (_, 0) => usage.input = Tokens(input - cached),
            (_, _) => usage.cache_write = Tokens(input - cached),
        }
        cost = cost + prices.cost(&usage);
        cached = input;
    }
    cost
}

fn bound_to_json(settings: &Settings, worst: &Bound, usual: Option<MicroUsd>) -> serde_json::Value {
    let fallbacks: Vec<&str> = settings.fallbacks.iter().map(|facts| facts.name.as_str()).collect();
    json!({
        "calls_between_inputs": worst.calls_between_inputs,
        "calls_between_turns": worst.calls_between_turns,
        "billed_calls_between_inputs": worst.billed_calls_between_inputs,
        "turns": worst.turns,
        "money_usd": worst.money.map(dollars_to_json),
        "usual_task_usd": usual.map(dollars_to_json),
        "settings": {
            "model": settings.model.name.as_str(),
            "fallback_models": fallbacks,
            "max_turns": settings.limits.turns_max,
            "max_retries": settings.limits.retries_max,
            "max_budget_usd": settings.budget.budget_max.map(dollars_to_json),
        },
    })
}

fn render_bound(settings: &Settings, worst: &Bound, usual: Option<MicroUsd>) -> String {
    let models: Vec<&str> = std::iter::once(&settings.model)
        .chain(&settings.fallbacks)
        .map(|facts| facts.name.as_str())
        .collect();
    let mut rows = vec![
        (words::BOUND_TURNS, format_count(u64::from(worst.turns))),
        (words::BOUND_CALLS, format_count(worst.calls_between_inputs)),
        (words::BOUND_CALLS_PER_TURN, format_count(worst.calls_between_turns)),
        (words::BOUND_CALLS_BILLED, format_count(worst.billed_calls_between_inputs)),
    ];
    rows.extend(render_money_rows(settings, worst, usual));
    let turns = format_count(u64::from(settings.limits.turns_max));
    let retries = settings.limits.retries_max;
    let mut text = words::introduce_bound(&models.join(", then "), &turns, retries);
    for (what, number) in rows {
        text.push_str(&format!("  {what:<22}{number}\n"));
    }
    let advice = match (worst.money, settings.budget.budget_max) {
        (Some(_), Some(_)) | (Some(MicroUsd(0)), None) => "",
        (Some(_), None) => words::NO_BUDGET_ADVICE,
        (None, _) => words::NO_PRICE_ADVICE,
    };
    text.push_str(&format!("\n{}{advice}", words::BOUND_EXPLANATION));
    text
}

fn render_money_rows(
    settings: &Settings,
    worst: &Bound,
    usual: Option<MicroUsd>,
) -> Vec<(&'static str, String)> {
    let Some(most) = worst.money else {
        return vec![(words::BOUND_MONEY, words::BOUND_NO_PRICE.to_owned())];
    };
    if most == MicroUsd(0) && settings.budget.budget_max.is_none() {
        return vec![(words::BOUND_MONEY, words::BOUND_FREE.to_owned())];
    }
    let most = format_money(most);
    let mut rows = Vec::new();
    if let Some(usual) = usual {
        let last = USUAL_INPUT_FIRST + (USUAL_CALLS - 1) * USUAL_INPUT_GROWTH;
        let words = words::describe_usual_task(
            &format_money(usual),
            USUAL_CALLS,
            &format_count(USUAL_INPUT_FIRST),
            &format_count(last),
        );
        rows.push((words::BOUND_USUAL, words));
    }
    rows.push(match settings.budget.budget_max {
        Some(_) => (words::BOUND_LIMIT, words::describe_budget(&most)),
        None => (words::BOUND_WORST, words::describe_worst_case(&most)),
    });
    rows
}

/// A task of ordinary length, as an estimate. Tokens are those of one call.
const USUAL_CALLS: u64 = 12;
const USUAL_INPUT_FIRST: u64 = 15_000;
const USUAL_INPUT_GROWTH: u64 = 3_000;
const USUAL_OUTPUT: u64 = 700;
