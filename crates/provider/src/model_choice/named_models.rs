//! Models that an agent or a single command may request by name, in addition to those of the session:
//! models of the same provider that support the session's settings.

use windlass_driver::engine_settings::Settings;
use windlass_vocabulary::{ModelFacts, ThinkingMode};

use super::{AvailableModels, ChosenModel, ModelChain, choose_model};
use crate::config::Config;
use crate::config::model::ThinkingSupport;
use windlass_host::environment::EnvLookup;

/// Lists them by the names that users know; `named` are those that agents request.
pub fn list_named_models<'a>(
    model_chain: &'a ModelChain,
    config: &'a Config,
    settings: &Settings,
    available: AvailableModels<'_>,
    named: impl Iterator<Item = &'a str>,
    lookup: &impl EnvLookup,
) -> Vec<(String, ModelFacts)> {
    let listed = config.listed_models(&model_chain.primary.provider);
    let names = config.aliases.keys().map(String::as_str).chain(listed).chain(named);
    let mut models: Vec<(String, ModelFacts)> = Vec::new();
    for name in names.take(MODELS_MAX) {
        let Ok(chosen) = choose_model(name, config, lookup) else { continue };
        let is_new = !models.iter().any(|(known, _)| known == name);
        if is_new
            && chosen.provider == model_chain.primary.provider
            && fits_settings(&chosen, settings)
            && available.allows(&chosen, config, lookup)
        {
            models.push((name.to_owned(), chosen.facts()));
        }
    }
    models
}

/// Does the model support the session's settings? With a budget its price must be known.
fn fits_settings(chosen: &ChosenModel, settings: &Settings) -> bool {
    let model = chosen.model();
    let thinks = match settings.reasoning.thinking {
        ThinkingMode::Adaptive | ThinkingMode::Budget(_) => {
            matches!(model.thinking, Some(ThinkingSupport::Optional | ThinkingSupport::Always))
        }
        ThinkingMode::Disabled => model.thinking != Some(ThinkingSupport::Always),
        ThinkingMode::Unset => true,
    };
    let works = match (settings.reasoning.effort, &model.effort) {
        (Some(effort), Some(known)) => known.contains(&effort),
        _ => true,
    };
    thinks && works && (settings.budget.budget_max.is_none() || model.price.is_some())
}

const MODELS_MAX: usize = 1_000;
