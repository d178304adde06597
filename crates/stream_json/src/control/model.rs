//! Requests about models: list them, and choose one.

use serde_json::{Value, json};
use windlass_driver::SettingsChange;
use windlass_vocabulary::{ModelName, ThinkingMode, Tokens};

use super::request::ThinkingBudget;
use super::{ControlOutcome, answer_later, require_session};
use crate::choosable_models::list_choosable_models;
use crate::event_loop::EventLoop;
use windlass_provider::endpoint;
use windlass_provider::endpoint::{CredentialCache, ModelEndpoint};
use windlass_provider::model_choice;
use windlass_provider::model_choice::ChosenModel;

/// `set_model`: asks this model from now on, or the first one again. A model of another provider is
/// asked there; its key may have to be looked up, which may take a while.
pub(super) fn choose_model(
    event_loop: &mut EventLoop,
    wanted: Option<&str>,
) -> Result<ControlOutcome, String> {
    let live = require_session(event_loop)?;
    let wanted = wanted.unwrap_or(&live.provider.initial_model).to_owned();
    let layers = live.settings.layers.clone();
    let config = live.provider.endpoints.config.clone();
    let environment = |name: &str| std::env::var_os(name);
    let chosen =
        model_choice::choose_model(&wanted, &config, &layers.overlay_environment(&environment));
    let chosen = chosen.map_err(|refusal| refusal.to_string())?;
    if wanted != live.provider.initial_model {
        let allowed = layers.available_models().check(
            &chosen,
            &config,
            &layers.overlay_environment(&environment),
        );
        allowed.map_err(|refusal| refusal.to_string())?;
    }
    let name = ModelName::from(chosen.name.as_str());
    if live.provider.endpoints.for_model(Some(&name)).provider == chosen.provider {
        return Ok(ControlOutcome::Now(switch_model(event_loop, &chosen)));
    }
    Ok(answer_later(async move {
        let resolved = tokio::task::spawn_blocking(move || {
            let environment = |name: &str| std::env::var_os(name);
            let lookup = layers.overlay_environment(&environment);
            let resolved = endpoint::resolve_endpoint(
                &chosen,
                &config,
                &mut CredentialCache::default(),
                &lookup,
            );
            resolved.map(|server| (chosen, server)).map_err(|refusal| refusal.to_string())
        });
        let resolved = resolved.await.unwrap_or_else(|broken| Err(broken.to_string()));
        move |event_loop: &mut EventLoop| {
            let (chosen, ModelEndpoint { endpoint, description }) = resolved?;
            let live = require_session(event_loop)?;
            let added = live.session.add_endpoint(name.clone(), endpoint);
            added.map_err(|error| error.to_string())?;
            live.provider.endpoints.by_model.insert(name, description);
            switch_model(event_loop, &chosen)
        }
    }))
}

fn switch_model(event_loop: &mut EventLoop, chosen: &ChosenModel) -> Result<Value, String> {
    let facts = chosen.facts();
    event_loop.usage_totals.add_model_facts(&facts);
    let live = require_session(event_loop)?;
    live.provider.model.clone_from(&chosen.name);
    let changed = live.session.configure([SettingsChange::Model(facts)]);
    changed.map_err(|error| error.to_string())?;
    Ok(json!({}))
}

/// `set_max_thinking_tokens`. None is none; models that decide by themselves how much is right do so.
pub(super) fn set_thinking(
    event_loop: &mut EventLoop,
    hides_thinking: Option<bool>,
    budget: Option<ThinkingBudget>,
) -> Result<Value, String> {
    if let Some(hides_thinking) = hides_thinking {
        require_session(event_loop)?.frames.builder.set_hidden_thinking(hides_thinking);
    }
    let thinking = match budget {
        None => return Ok(json!({})),
        Some(ThinkingBudget::Initial) => require_session(event_loop)?.initial_thinking(),
        Some(ThinkingBudget::Tokens(0)) => ThinkingMode::Disabled,
        Some(ThinkingBudget::Tokens(tokens)) => ThinkingMode::Budget(Tokens(tokens)),
    };
    let change = SettingsChange::Thinking(thinking);
    let changed = require_session(event_loop)?.session.configure([change]);
    changed.map_err(|error| error.to_string())?;
    Ok(json!({}))
}

/// `list_models`.
pub(super) fn list_models(event_loop: &mut EventLoop) -> Result<Value, String> {
    let live = require_session(event_loop)?;
    let models = list_choosable_models(
        &live.provider.endpoints.config,
        &live.provider.initial_model,
        live.settings.layers.available_models(),
    );
    Ok(json!({ "models": models }))
}
