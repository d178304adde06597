//! `windlass bound`: the worst case for the settings given, as text or JSON. The engine computes the
//! numbers.

use serde_json::json;
use windlass_driver::engine_settings::{Bound, Settings, bound};
use windlass_provider::model_options::ModelOptions;
use windlass_vocabulary::MicroUsd;

use crate::args::BoundArgs;
use windlass_assembly::limits::build_engine_settings;
use windlass_host::command_error::CommandError;
use windlass_host::display::dollars_json::dollars_to_json;
use windlass_host::display::human_format;
use windlass_host::display::human_format::format_count;
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
    Ok(match args.json {
        true => format!("{}\n", bound_to_json(&settings, &worst)),
        false => render_bound(&settings, &worst),
    })
}

fn bound_to_json(settings: &Settings, worst: &Bound) -> serde_json::Value {
    let fallbacks: Vec<&str> = settings.fallbacks.iter().map(|facts| facts.name.as_str()).collect();
    json!({
        "calls_between_inputs": worst.calls_between_inputs,
        "calls_between_turns": worst.calls_between_turns,
        "turns": worst.turns,
        "money_usd": worst.money.map(dollars_to_json),
        "settings": {
            "model": settings.model.name.as_str(),
            "fallback_models": fallbacks,
            "max_turns": settings.limits.turns_max,
            "max_retries": settings.limits.retries_max,
            "max_budget_usd": settings.budget.budget_max.map(dollars_to_json),
        },
    })
}

fn render_bound(settings: &Settings, worst: &Bound) -> String {
    let models: Vec<&str> = std::iter::once(&settings.model)
        .chain(&settings.fallbacks)
        .map(|facts| facts.name.as_str())
        .collect();
    let money = match (worst.money, settings.budget.budget_max) {
        (Some(money), Some(_)) => {
            format!("{}, the limit that was set", human_format::format_money(money))
        }
        (Some(MicroUsd(0)), None) => "nothing, it is free".to_owned(),
        (Some(money), None) => human_format::format_money(money),
        (None, _) => "unknown, because a model has no price here".to_owned(),
    };
    let rows = [
        ("model calls between two inputs", format_count(worst.calls_between_inputs)),
        ("model calls between two tool turns", format_count(worst.calls_between_turns)),
        ("tool turns between two inputs", format_count(u64::from(worst.turns))),
        ("money between two inputs", money),
    ];
    let mut text = format!(
        "The most that can happen after one input of yours, whatever the model, the tools and the \
         network do.\nModel: {}. Turns: at most {}. Tries after a failed request: at most {}.\n\n",
        models.join(", then "),
        settings.limits.turns_max,
        settings.limits.retries_max,
    );
    for (what, number) in rows {
        text.push_str(&format!("  {what:<36}{number}\n"));
    }
    let money = match (worst.money, settings.budget.budget_max) {
        (Some(_), Some(_)) | (Some(MicroUsd(0)), None) => "",
        (Some(_), None) => {
            "\nThe money is what it would cost if every call filled the window; --max-budget-usd \
             sets a limit\nthat is checked before each request."
        }
        (None, _) => "\nGive the price with --price to see it, or to set --max-budget-usd.",
    };
    text.push_str(&format!("\n{EXPLANATION}{money}\n"));
    text
}

const EXPLANATION: &str = "Calls include retries, summaries and resumed answers. Each lowers a counter that \
only a new input\nrefills, so a run always ends. --max-turns and --max-retries make it shorter.";
