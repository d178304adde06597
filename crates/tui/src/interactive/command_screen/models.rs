//! `/model`: the models of every provider, and another one for the rest of the session. What was said
//! stays; what one provider signed is left out for another, as on a fallback.

use std::sync::PoisonError;

use crate::{Picker, PickerItem, PromptAction as Meant};
use windlass_driver::SettingsChange;
use windlass_vocabulary::{ModelFacts, ModelName};

use super::super::prompt_handler::PromptHandler;
use super::{build_item, read_environment};
use windlass_host::command_error::CommandError;
use windlass_host::display::human_format::format_count;
use windlass_provider::endpoint;
use windlass_provider::endpoint::{CredentialCache, ModelEndpoint};
use windlass_provider::model_choice;

impl PromptHandler {
    /// All there are, the one that is asked first.
    pub(super) async fn build_model_picker(&self) -> Picker {
        let config = &self.config;
        let now = self.read_current_settings().await.map(|settings| settings.model.name).ok();
        let now = now.as_ref().map(|name| (name, self.find_provider(name)));
        let layers = self.settings_reloader.lock().await.layers.clone();
        let lookup = layers.overlay_environment(&read_environment);
        let is_left = |name: &str| {
            let chosen = model_choice::choose_model(name, config, &lookup);
            chosen.is_ok_and(|chosen| layers.available_models().allows(&chosen, config, &lookup))
        };
        let mut items: Vec<PickerItem> = Vec::new();
        for provider in config.providers.keys() {
            for name in config.listed_models(provider) {
                let facts = config.resolve_model(provider, name).model.to_model_facts(name);
                let is_now =
                    now.as_ref().is_some_and(|(now, of)| now.as_str() == name && of == provider);
                if !is_now && !is_left(&format!("{provider}/{name}")) {
                    continue;
                }
                let sign = if is_now { "asked now · " } else { "" };
                let row = build_item(
                    format!("/model {provider}/{name}"),
                    format!("{provider}/{name}"),
                    format!("{sign}{}", describe_model(&facts)),
                );
                items.insert(if is_now { 0 } else { items.len() }, row);
            }
        }
        if items.is_empty() {
            items.push(build_item("", self.settings.model.name.as_str(), "the only one known"));
        }
        Picker::new("Ask which model from now on?", items)
    }

    /// Asks another one from now on, at its own provider.
    pub(super) async fn switch_model(&self, wanted: &str) -> Result<Meant, CommandError> {
        let layers = self.settings_reloader.lock().await.layers.clone();
        let chosen = model_choice::choose_model(
            wanted,
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
            // A key may have to be looked for, which may take a while.
            let config = self.config.clone();
            let found = tokio::task::spawn_blocking(move || {
                let lookup = layers.overlay_environment(&read_environment);
                endpoint::resolve_endpoint(
                    &chosen,
                    &config,
                    &mut CredentialCache::default(),
                    &lookup,
                )
            });
            let found = found.await.map_err(|broken| CommandError::failure(broken.to_string()))?;
            let ModelEndpoint { endpoint, description: place } = found?;
            let added = self.session.add_endpoint(name.clone(), endpoint);
            added.map_err(|error| CommandError::failure(error.to_string()))?;
            let mut atlas = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
            atlas.by_model.insert(name.clone(), place);
        }
        let window = facts.window.0;
        let sent = self.session.configure([SettingsChange::Model(facts)]);
        sent.map_err(|error| CommandError::failure(error.to_string()))?;
        Ok(Meant::ModelChanged(name.as_str().to_owned(), window))
    }

    fn find_provider(&self, name: &ModelName) -> String {
        let atlas = self.endpoints.lock().unwrap_or_else(PoisonError::into_inner);
        atlas.for_model(Some(name)).provider.clone()
    }
}

/// Its window and its price.
fn describe_model(facts: &ModelFacts) -> String {
    let dollars = |micro: u64| {
        let text = format!("{}.{:02}", micro / 1_000_000, micro % 1_000_000 / 10_000);
        format!("${}", text.trim_end_matches('0').trim_end_matches('.'))
    };
    let prices = facts.prices;
    let price = match (prices.input, prices.output) {
        (0, 0) => "no price".to_owned(),
        (input, output) => format!("{} in, {} out per million", dollars(input), dollars(output)),
    };
    format!("{} tokens · {price}", format_count(facts.window.0))
}
