//! Requests about models: which there are, and which is asked from now on.

use serde_json::{Value, json};
use windlass_driver::SettingsChange;
use windlass_vocabulary::{ModelName, ThinkingMode, Tokens};

use super::{ControlOutcome, answer_later, answer_now, require_session};
use crate::event_loop::EventLoop;
use windlass_provider::config::Config;
use windlass_provider::endpoint;
use windlass_provider::endpoint::{CredentialCache, ModelEndpoint};
use windlass_provider::model_choice;
use windlass_provider::model_choice::{AvailableModels, ChosenModel};

/// `set_model`. One that lives elsewhere is asked there; its key may have to be looked for, which may
/// take a while.
pub(super) fn set_model(desk: &mut EventLoop, request: &Value) -> Result<ControlOutcome, String> {
    let wanted = request.get("model").and_then(Value::as_str);
    choose_model(desk, wanted.filter(|name| *name != "default"))
}

/// Asks this model from now on, or the first one again.
pub(super) fn choose_model(
    desk: &mut EventLoop,
    wanted: Option<&str>,
) -> Result<ControlOutcome, String> {
    let stage = require_session(desk)?;
    let wanted = wanted.unwrap_or(&stage.initial_model).to_owned();
    let layers = stage.layers.clone();
    let config = stage.endpoints.config.clone();
    let environment = |name: &str| std::env::var_os(name);
    let chosen =
        model_choice::choose_model(&wanted, &config, &layers.overlay_environment(&environment));
    let chosen = chosen.map_err(|refusal| refusal.to_string())?;
    if wanted != stage.initial_model {
        let allowed = layers.available_models().check(
            &chosen,
            &config,
            &layers.overlay_environment(&environment),
        );
        allowed.map_err(|refusal| refusal.to_string())?;
    }
    let name = ModelName::from(chosen.name.as_str());
    if stage.endpoints.for_model(Some(&name)).provider == chosen.provider {
        return answer_now(switch_model(desk, &chosen));
    }
    Ok(answer_later(async move {
        let found = tokio::task::spawn_blocking(move || {
            let environment = |name: &str| std::env::var_os(name);
            let lookup = layers.overlay_environment(&environment);
            let found = endpoint::resolve_endpoint(
                &chosen,
                &config,
                &mut CredentialCache::default(),
                &lookup,
            );
            found.map(|server| (chosen, server)).map_err(|refusal| refusal.to_string())
        });
        let found = found.await.unwrap_or_else(|broken| Err(broken.to_string()));
        move |desk: &mut EventLoop| {
            let (chosen, ModelEndpoint { endpoint, description: place }) = found?;
            let stage = require_session(desk)?;
            let added = stage.session.add_endpoint(name.clone(), endpoint);
            added.map_err(|error| error.to_string())?;
            stage.endpoints.by_model.insert(name, place);
            switch_model(desk, &chosen)
        }
    }))
}

fn switch_model(desk: &mut EventLoop, chosen: &ChosenModel) -> Result<Value, String> {
    let facts = chosen.facts();
    desk.usage_totals.add_model_facts(&facts);
    let stage = require_session(desk)?;
    stage.model.clone_from(&chosen.name);
    let changed = stage.session.configure([SettingsChange::Model(facts)]);
    changed.map_err(|error| error.to_string())?;
    Ok(json!({}))
}

/// `set_max_thinking_tokens`. None is none; models that decide by themselves how much is right do so.
pub(super) fn set_thinking(desk: &mut EventLoop, request: &Value) -> Result<Value, String> {
    match request.get("thinking_display").map(Value::as_str) {
        None => {}
        Some(Some("omitted")) => require_session(desk)?.frame_builder.set_hidden_thinking(true),
        Some(None | Some("summarized")) => {
            require_session(desk)?.frame_builder.set_hidden_thinking(false);
        }
        Some(Some(other)) => return Err(format!("`{other}` is not known here")),
    }
    let thinking = match request.get("max_thinking_tokens") {
        None => return Ok(json!({})),
        Some(tokens) => match tokens.as_u64() {
            None => require_session(desk)?.initial_thinking(),
            Some(0) => ThinkingMode::Disabled,
            Some(tokens) => ThinkingMode::Budget(Tokens(tokens)),
        },
    };
    let changed = require_session(desk)?.session.configure([SettingsChange::Thinking(thinking)]);
    changed.map_err(|error| error.to_string())?;
    Ok(json!({}))
}

/// `list_models`.
pub(super) fn list_models(desk: &mut EventLoop) -> Result<Value, String> {
    let stage = require_session(desk)?;
    let models = list_choosable_models(
        &stage.endpoints.config,
        &stage.initial_model,
        stage.layers.available_models(),
    );
    Ok(json!({ "models": models }))
}

/// The models that may be chosen: the session's own first, then by short names, then all of the table.
/// Those that settings do not leave to choose are left out.
pub(crate) fn list_choosable_models(
    config: &Config,
    first: &str,
    available: AvailableModels<'_>,
) -> Vec<Value> {
    let environment = |name: &str| std::env::var_os(name);
    let is_left = |name: &str| {
        let chosen = model_choice::choose_model(name, config, &environment);
        chosen.is_ok_and(|chosen| available.allows(&chosen, config, &environment))
    };
    let row = |value: &str, name: &str, about: &str| json!({ "value": value, "resolvedModel": name, "displayName": name, "description": about });
    let mut rows = vec![row("default", first, "The session's own")];
    for (short, full) in config.aliases.iter().filter(|(short, _)| is_left(short)) {
        let name = full.split_once('/').map_or(full.as_str(), |(_, name)| name);
        rows.push(row(short, name, full));
    }
    for provider in config.providers.keys() {
        for name in config.listed_models(provider) {
            let full = format!("{provider}/{name}");
            if is_left(&full) {
                rows.push(row(&full, name, provider));
            }
        }
    }
    rows
}
