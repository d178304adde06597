//! Requests about models: which there are, and which is asked from now on.

use serde_json::{Value, json};
use windlass_vocabulary::{ModelName, ThinkingMode, Tokens};

use super::{Served, later, now, opened};
use crate::choice::{self, Available, Chosen};
use crate::config::Config;
use crate::front::stream_json::desk::Desk;
use crate::server::{self, Proofs, Server};

/// `set_model`. One that lives elsewhere is asked there; its key may have to be looked for, which may
/// take a while.
pub(super) fn set(desk: &mut Desk, request: &Value) -> Result<Served, String> {
    let wanted = request.get("model").and_then(Value::as_str);
    choose(desk, wanted.filter(|name| *name != "default"))
}

/// Asks this model from now on, or the first one again.
pub(super) fn choose(desk: &mut Desk, wanted: Option<&str>) -> Result<Served, String> {
    let stage = opened(desk)?;
    let wanted = wanted.unwrap_or(&stage.model_first).to_owned();
    let layers = stage.layers.clone();
    let config = stage.atlas.config.clone();
    let environment = |name: &str| std::env::var_os(name);
    let chosen = choice::choose(&wanted, &config, &layers.over(&environment));
    let chosen = chosen.map_err(|refusal| refusal.to_string())?;
    if wanted != stage.model_first {
        let allowed = layers.available().check(&chosen, &config, &layers.over(&environment));
        allowed.map_err(|refusal| refusal.to_string())?;
    }
    let name = ModelName::from(chosen.name.as_str());
    if stage.atlas.place(Some(&name)).provider == chosen.provider {
        return now(switch(desk, &chosen));
    }
    Ok(later(async move {
        let found = tokio::task::spawn_blocking(move || {
            let environment = |name: &str| std::env::var_os(name);
            let lookup = layers.over(&environment);
            let found = server::server(&chosen, &config, &mut Proofs::default(), &lookup);
            found.map(|server| (chosen, server)).map_err(|refusal| refusal.to_string())
        });
        let found = found.await.unwrap_or_else(|broken| Err(broken.to_string()));
        move |desk: &mut Desk| {
            let (chosen, Server { endpoint, place }) = found?;
            let stage = opened(desk)?;
            let added = stage.session.add_endpoint(name.clone(), endpoint);
            added.map_err(|error| error.to_string())?;
            stage.atlas.places.insert(name, place);
            switch(desk, &chosen)
        }
    }))
}

fn switch(desk: &mut Desk, chosen: &Chosen) -> Result<Value, String> {
    let facts = chosen.facts();
    desk.account.knows(&facts);
    let stage = opened(desk)?;
    stage.model.clone_from(&chosen.name);
    let changed = stage.session.configure(move |settings| settings.model = facts);
    changed.map_err(|error| error.to_string())?;
    Ok(json!({}))
}

/// `set_max_thinking_tokens`. None is none; models that decide by themselves how much is right do so.
pub(super) fn set_thinking(desk: &mut Desk, request: &Value) -> Result<Value, String> {
    match request.get("thinking_display").map(Value::as_str) {
        None => {}
        Some(Some("omitted")) => opened(desk)?.narrator.hide_thinking(true),
        Some(None | Some("summarized")) => opened(desk)?.narrator.hide_thinking(false),
        Some(Some(other)) => return Err(format!("`{other}` is not known here")),
    }
    let thinking = match request.get("max_thinking_tokens") {
        None => return Ok(json!({})),
        Some(tokens) => match tokens.as_u64() {
            None => opened(desk)?.thinking_first(),
            Some(0) => ThinkingMode::Disabled,
            Some(tokens) => ThinkingMode::Budget(Tokens(tokens)),
        },
    };
    let changed = opened(desk)?.session.configure(move |settings| settings.thinking = thinking);
    changed.map_err(|error| error.to_string())?;
    Ok(json!({}))
}

/// `list_models`.
pub(super) fn list(desk: &mut Desk) -> Result<Value, String> {
    let stage = opened(desk)?;
    let models = known(&stage.atlas.config, &stage.model_first, stage.layers.available());
    Ok(json!({ "models": models }))
}

/// The models that may be chosen: the session's own first, then by short names, then all of the table.
/// Those that settings do not leave to choose are left out.
pub(crate) fn known(config: &Config, first: &str, available: Available<'_>) -> Vec<Value> {
    let environment = |name: &str| std::env::var_os(name);
    let is_left = |name: &str| {
        let chosen = choice::choose(name, config, &environment);
        chosen.is_ok_and(|chosen| available.has(&chosen, config, &environment))
    };
    let row = |value: &str, name: &str, about: &str| json!({ "value": value, "resolvedModel": name, "displayName": name, "description": about });
    let mut rows = vec![row("default", first, "The session's own")];
    for (short, full) in config.short.iter().filter(|(short, _)| is_left(short)) {
        let name = full.split_once('/').map_or(full.as_str(), |(_, name)| name);
        rows.push(row(short, name, full));
    }
    for provider in config.providers.keys() {
        for name in config.listed(provider) {
            let full = format!("{provider}/{name}");
            if is_left(&full) {
                rows.push(row(&full, name, provider));
            }
        }
    }
    rows
}
