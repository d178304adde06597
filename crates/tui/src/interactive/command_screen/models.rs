//! `/model`: the models of every provider, and another one for the rest of the session. The conversation
//! stays; signatures of one provider are left out for another, as on a fallback.

use std::collections::BTreeSet;
use std::sync::{MutexGuard, PoisonError};

use crate::{Picker, PickerItem, PromptAction};
use windlass_host::environment::process_environment;
use windlass_vocabulary::{MicroUsd, ModelFacts, ModelName};

use super::super::prompt_handler::PromptHandler;
use super::super::words;
use super::build_item;
use windlass_assembly::model_selection::{
    ModelSwitch, find_allowed_model, find_providers_with_key,
};
use windlass_assembly::settings::SettingsLayers;
use windlass_host::command_error::CommandError;
use windlass_host::display::human_format::{format_count, format_money};
use windlass_provider::endpoint::EndpointDescriptions;

impl PromptHandler {
    /// The model in use first.
    pub(super) async fn build_model_picker(&self) -> Picker {
        let config = &self.config;
        let current = self.read_current_settings().await.map(|settings| settings.model.name).ok();
        let current = current.as_ref().map(|name| (name, self.find_provider(name)));
        let layers = self.settings_state.reloader.lock().await.layers.clone();
        let is_available =
            |name: &str| find_allowed_model(name, config, &layers, &process_environment).is_some();
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
            find_providers_with_key(&config, &layers.overlay_environment(&process_environment))
        });
        found.await.unwrap_or_default()
    }

    pub(super) async fn switch_model(&self, model: &str) -> Result<PromptAction, CommandError> {
        let layers = self.settings_state.reloader.lock().await.layers.clone();
        let own = self.settings.model.name.as_str();
        let switch = ModelSwitch::plan(model, own, &layers, &self.lock_endpoints())?;
        let resolved = switch.resolve_endpoint().await?;
        let facts = switch.apply(resolved, &self.session, &mut self.lock_endpoints())?;
        Ok(PromptAction::ModelChanged(facts.name.as_str().to_owned(), facts.window.0))
    }

    fn lock_endpoints(&self) -> MutexGuard<'_, EndpointDescriptions> {
        self.endpoints.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find_provider(&self, name: &ModelName) -> String {
        self.lock_endpoints().for_model(Some(name)).provider.clone()
    }
}

/// The context window and the price.
fn describe_model(facts: &ModelFacts) -> String {
    let dollars = |micro: u64| match micro % 10_000 {
        0 => format_money(MicroUsd(micro)),
        // A price may be a part of a cent.
        _ => format!("${}.{:03}", micro / 1_000_000, micro % 1_000_000 / 1_000),
    };
    let prices = facts.prices;
    let price = match (prices.input, prices.output) {
        (0, 0) => words::NO_PRICE.to_owned(),
        (input, output) => words::describe_price(&dollars(input), &dollars(output)),
    };
    format!("{} tokens · {price}", format_count(facts.window.0))
}
