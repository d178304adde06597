//! Requests about models: list them, and choose one.

use serde_json::{Value, json};
use windlass_driver::SettingsChange;
use windlass_vocabulary::{ThinkingMode, Tokens};

use super::request::ThinkingBudget;
use super::{ControlOutcome, answer_later, require_session};
use crate::choosable_models::list_choosable_models;
use crate::event_loop::EventLoop;
use windlass_assembly::model_selection::ModelSwitch;
use windlass_provider::endpoint::ModelEndpoint;

/// `set_model`: uses this model from now on, or the first one again. For a model of another
/// provider the key may have to be looked up, which may take a while.
pub(super) fn choose_model(
    event_loop: &mut EventLoop,
    wanted: Option<&str>,
) -> Result<ControlOutcome, String> {
    let live = require_session(event_loop)?;
    let own = &live.provider.initial_model;
    let wanted = wanted.unwrap_or(own);
    let switch = ModelSwitch::plan(wanted, own, &live.settings.layers, &live.provider.endpoints);
    let switch = switch.map_err(|refusal| refusal.to_string())?;
    if !switch.needs_endpoint() {
        return Ok(ControlOutcome::Now(apply_switch(event_loop, switch, None)));
    }
    Ok(answer_later(async move {
        let resolved = switch.resolve_endpoint().await;
        move |event_loop: &mut EventLoop| {
            let resolved = resolved.map_err(|refusal| refusal.to_string())?;
            apply_switch(event_loop, switch, resolved)
        }
    }))
}

fn apply_switch(
    event_loop: &mut EventLoop,
    switch: ModelSwitch,
    resolved: Option<ModelEndpoint>,
) -> Result<Value, String> {
    let live = require_session(event_loop)?;
    let applied = switch.apply(resolved, &live.session, &mut live.provider.endpoints);
    let facts = applied.map_err(|error| error.to_string())?;
    facts.name.as_str().clone_into(&mut live.provider.model);
    event_loop.usage_totals.add_model_facts(&facts);
    Ok(json!({}))
}

/// `set_max_thinking_tokens`. Null removes the limit; models that choose their own amount then do
/// so.
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

pub(super) fn list_models(event_loop: &mut EventLoop) -> Result<Value, String> {
    let live = require_session(event_loop)?;
    let models = list_choosable_models(
        &live.provider.endpoints,
        &live.provider.initial_model,
        &live.settings.layers,
    );
    Ok(json!({ "models": models }))
}
