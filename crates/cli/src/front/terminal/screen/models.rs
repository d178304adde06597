//! `/model`: the models of every provider, and another one for the rest of the session. What was said
//! stays; what one provider signed is left out for another, as on a fallback.

use std::sync::PoisonError;

use windlass_terminal::{Item, Order as Meant, Picker};
use windlass_vocabulary::{ModelFacts, ModelName};

use super::super::desk::Desk;
use super::{environment, item};
use crate::choice;
use crate::front::words::count;
use crate::refusal::Refusal;
use crate::server::{self, Proofs, Server};

impl Desk {
    /// All there are, the one that is asked first.
    pub(super) async fn model_list(&self) -> Picker {
        let config = &self.config;
        let now = self.in_force().await.map(|settings| settings.model.name).ok();
        let now = now.as_ref().map(|name| (name, self.provider_of(name)));
        let layers = self.live.lock().await.layers.clone();
        let lookup = layers.over(&environment);
        let is_left = |name: &str| {
            let chosen = choice::choose(name, config, &lookup);
            chosen.is_ok_and(|chosen| layers.available().has(&chosen, config, &lookup))
        };
        let mut items: Vec<Item> = Vec::new();
        for provider in config.providers.keys() {
            for name in config.listed(provider) {
                let facts = config.model(provider, name).model.facts(name);
                let is_now =
                    now.as_ref().is_some_and(|(now, of)| now.as_str() == name && of == provider);
                if !is_now && !is_left(&format!("{provider}/{name}")) {
                    continue;
                }
                let sign = if is_now { "asked now · " } else { "" };
                let row = item(
                    format!("/model {provider}/{name}"),
                    format!("{provider}/{name}"),
                    format!("{sign}{}", about(&facts)),
                );
                items.insert(if is_now { 0 } else { items.len() }, row);
            }
        }
        if items.is_empty() {
            items.push(item("", self.settings.model.name.as_str(), "the only one known"));
        }
        Picker::new("Ask which model from now on?", items)
    }

    /// Asks another one from now on, at its own provider.
    pub(super) async fn model(&self, wanted: &str) -> Result<Meant, Refusal> {
        let layers = self.live.lock().await.layers.clone();
        let chosen = choice::choose(wanted, &self.config, &layers.over(&environment))?;
        if chosen.name != self.settings.model.name.as_str() {
            layers.available().check(&chosen, &self.config, &layers.over(&environment))?;
        }
        let name = ModelName::from(chosen.name.as_str());
        let facts = chosen.facts();
        if self.provider_of(&name) != chosen.provider {
            // A key may have to be looked for, which may take a while.
            let config = self.config.clone();
            let found = tokio::task::spawn_blocking(move || {
                let lookup = layers.over(&environment);
                server::server(&chosen, &config, &mut Proofs::default(), &lookup)
            });
            let found = found.await.map_err(|broken| Refusal::failed(broken.to_string()))?;
            let Server { endpoint, place } = found?;
            let added = self.session.add_endpoint(name.clone(), endpoint);
            added.map_err(|error| Refusal::failed(error.to_string()))?;
            let mut atlas = self.atlas.lock().unwrap_or_else(PoisonError::into_inner);
            atlas.places.insert(name.clone(), place);
        }
        let window = facts.window.0;
        let sent = self.session.configure(move |settings| settings.model = facts);
        sent.map_err(|error| Refusal::failed(error.to_string()))?;
        Ok(Meant::Model(name.as_str().to_owned(), window))
    }

    fn provider_of(&self, name: &ModelName) -> String {
        let atlas = self.atlas.lock().unwrap_or_else(PoisonError::into_inner);
        atlas.place(Some(name)).provider.clone()
    }
}

/// Its window and its price.
fn about(facts: &ModelFacts) -> String {
    let dollars = |micro: u64| {
        let text = format!("{}.{:02}", micro / 1_000_000, micro % 1_000_000 / 10_000);
        format!("${}", text.trim_end_matches('0').trim_end_matches('.'))
    };
    let prices = facts.prices;
    let price = match (prices.input, prices.output) {
        (0, 0) => "no price".to_owned(),
        (input, output) => format!("{} in, {} out per million", dollars(input), dollars(output)),
    };
    format!("{} tokens · {price}", count(facts.window.0))
}
