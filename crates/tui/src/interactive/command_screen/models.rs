//! `/model`: the models of every provider, and another one for the rest of the session. The conversation
//! stays; signatures of one provider are left out for another, as on a fallback.

use std::collections::BTreeSet;
use std::sync::PoisonError;

use crate::{Picker, PickerItem, PromptAction};
use windlass_driver::SettingsChange;
use windlass_vocabulary::{ModelFacts, ModelName};

use super::super::prompt_handler::PromptHandler;
use super::super::words;
use super::{build_item, read_environment};
use windlass_assembly::settings::SettingsLayers;
use windlass_host::command_error::CommandError;
use windlass_host::display::human_format::format_count;
use windlass_host::environment::EnvLookup;
use windlass_provider::config::Config;
use windlass_provider::endpoint;
use windlass_provider::endpoint::{CredentialCache, ModelEndpoint};
use windlass_provider::keyring::Keyring;
use windlass_provider::model_choice;
use windlass_provider::{key_source, keyring_key};

impl PromptHandler {
    /// The model in use first.
    pub(super) async fn build_model_picker(&self) -> Picker {
        let config = &self.config;
        let current = self.read_current_settings().await.map(|settings| settings.model.name).ok();
        let current = current.as_ref().map(|name| (name, self.find_provider(name)));
        let layers = self.settings_state.reloader.lock().await.layers.clone();
        let lookup = layers.overlay_environment(&read_environment);
        let is_available = |name: &str| {
            let chosen = model_choice::choose_model(name, config, &lookup);
            chosen.is_ok_and(|chosen| layers.available_models().allows(&chosen, config, &lookup))
        };
        let with_key = self.find_providers_with_key(layers.clone()).await;
        let mut items: Vec<PickerItem> = Vec::new();
        // Models that can be asked at once come first.
        let (usable, others): (Vec<&String>, Vec<&String>) =
            config.providers.keys().partition(|name| with_key.contains(*name));
        for provider in usable.into_iter().chain(others) {
            for name in config.listed_models(provider) {
                let facts = config.resolve_model(provider, name).model.to_model_facts(name);
                let is_current = current.as_ref().is_some_and(|(current, current_provider)| {
                    current.as_str() == name && current_provider == provider
                });
                if !is_current && !is_available(&format!("{provider}/{name}")) {
                    continue;
                }
                let prefix = match (is_current, with_key.contains(provider)) {
                    (true, _) => words::MODEL_CURRENT,
                    (false, true) => "",
                    (false, false) => words::MODEL_WITHOUT_KEY,
                };
                let row = build_item(
                    format!("/model {provider}/{name}"),
                    format!("{provider}/{name}"),
                    format!("{prefix}{}", describe_model(&facts)),
                );
                items.insert(if is_current { 0 } else { items.len() }, row);
            }
        }
        if items.is_empty() {
            items.push(build_item("", self.settings.model.name.as_str(), words::MODEL_ONLY));
        }
        Picker::new(words::TITLE_MODEL, items)
    }

    /// Providers that need no key, and those that have one. Asking the key ring blocks.
    async fn find_providers_with_key(&self, layers: SettingsLayers) -> BTreeSet<String> {
        let config = self.config.clone();
        let found = tokio::task::spawn_blocking(move || {
            let lookup = layers.overlay_environment(&read_environment);
            let mut keyring = Keyring::detect(&lookup).ok();
            let mut names = BTreeSet::new();
            for (name, provider) in &config.providers {
                let is_set =
                    !key_source::list_configured_sources(provider, &config, &lookup).is_empty();
                if is_set
                    || provider.needs_no_key()
                    || has_keyring_key(&mut keyring, name, &config, &lookup)
                {
                    names.insert(name.clone());
                }
            }
            names
        });
        found.await.unwrap_or_default()
    }

    /// Adds the endpoint of the model if its provider is not the one in use.
    pub(super) async fn switch_model(&self, model: &str) -> Result<PromptAction, CommandError> {
        let layers = self.settings_state.reloader.lock().await.layers.clone();
        let chosen = model_choice::choose_model(
            model,
            &self.config,
            &layers.overlay_environment(&read_environment),
        )?;
        if chosen.name != self.settings.model.name.as_str() {
            layers.available_models().check(
                &chosen,
                &self.config,
                &layers.overlay_environment(&read_environment),
            )?;
        }
        let name = ModelName::from(chosen.name.as_str());
        let facts = chosen.facts();
        if self.find_provider(&name) != chosen.provider {
            // Finding a key may ask the key ring, which blocks.
            let config = self.config.clone();
            let resolved = tokio::task::spawn_blocking(move || {
                let lookup = layers.overlay_environment(&read_environment);
                endpoint::resolve_endpoint(
                    &chosen,
                    &config,
                    &mut CredentialCache::default(),
                    &lookup,
                )
            });
            let resolved =
                resolved.await.map_err(|error| CommandError::failure(error.to_string()))?;
            let ModelEndpoint { endpoint, description } = resolved?;
            let added = self.session.add_endpoint(name.clone(), endpoint);
            added.map_err(|error| CommandError::failure(error.to_string()))?;
            let mut endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
            endpoints.by_model.insert(name.clone(), description);
        }
        let window = facts.window.0;
        let sent = self.session.configure([SettingsChange::Model(facts)]);
        sent.map_err(|error| CommandError::failure(error.to_string()))?;
        Ok(PromptAction::ModelChanged(name.as_str().to_owned(), window))
    }

    fn find_provider(&self, name: &ModelName) -> String {
        let endpoints = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        endpoints.for_model(Some(name)).provider.clone()
    }
}

/// Drops a key ring that fails: each further attempt would wait as long again.
fn has_keyring_key(
    keyring: &mut Option<Keyring>,
    name: &str,
    config: &Config,
    lookup: &impl EnvLookup,
) -> bool {
    let is_used = config.providers.get(name).is_some_and(keyring_key::uses_keyring);
    let origin = keyring_key::key_origin(name, config, lookup).filter(|_| is_used);
    let (Some(available), Some(origin)) = (keyring.as_ref(), origin) else { return false };
    match keyring_key::find_keyring_key(available, name, &origin, config, lookup) {
        Ok(key) => key.is_some(),
        Err(_) => {
            *keyring = None;
            false
        }
    }
}

/// The context window and the price.
fn describe_model(facts: &ModelFacts) -> String {
    let dollars = |micro: u64| {
        let text = format!("{}.{:02}", micro / 1_000_000, micro % 1_000_000 / 10_000);
        format!("${}", text.trim_end_matches('0').trim_end_matches('.'))
    };
    let prices = facts.prices;
    let price = match (prices.input, prices.output) {
        (0, 0) => words::NO_PRICE.to_owned(),
        (input, output) => words::describe_price(&dollars(input), &dollars(output)),
    };
    format!("{} tokens · {price}", format_count(facts.window.0))
}
