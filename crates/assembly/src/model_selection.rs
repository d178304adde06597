//! The models a running session can be switched to, and the switch itself.

use std::collections::BTreeSet;

use windlass_driver::{Session, SettingsChange};
use windlass_host::command_error::CommandError;
use windlass_host::environment::{EnvLookup, process_environment};
use windlass_provider::config::Config;
use windlass_provider::endpoint::{
    self, CredentialCache, EndpointDescriptions, ModelEndpoint, ModelWire,
};
use windlass_provider::key_source;
use windlass_provider::keyring::Keyring;
use windlass_provider::keyring_key;
use windlass_provider::model_choice::{self, ChosenModel};
use windlass_vocabulary::{ModelFacts, ModelName};

use crate::settings::SettingsLayers;

/// Providers that need no key, and those whose key is in the environment or a file. Does not ask the key
/// ring, which can block.
pub fn find_ready_providers(config: &Config, lookup: &impl EnvLookup) -> BTreeSet<String> {
    let is_ready = |(name, provider): (&String, _)| {
        let has_key = !key_source::list_configured_sources(provider, config, lookup).is_empty();
        (has_key || provider.needs_no_key()).then(|| name.clone())
    };
    config.providers.iter().filter_map(is_ready).collect()
}

/// As [`find_ready_providers`], and those with a key in the key ring. Blocks.
pub fn find_providers_with_key(config: &Config, lookup: &impl EnvLookup) -> BTreeSet<String> {
    let mut names = find_ready_providers(config, lookup);
    let Ok(keyring) = Keyring::detect(lookup) else { return names };
    for (name, provider) in &config.providers {
        if names.contains(name) || !keyring_key::uses_keyring(provider) {
            continue;
        }
        let Some(origin) = keyring_key::key_origin(name, config, lookup) else { continue };
        match keyring_key::find_keyring_key(&keyring, name, &origin, config, lookup) {
            Ok(Some(_)) => _ = names.insert(name.clone()),
            Ok(None) => {}
            // Each further attempt would wait as long again.
            Err(_) => break,
        }
    }
    names
}

/// The model of this name (a short one, or `provider/name`), if settings leave it to choose.
pub fn find_allowed_model(
    name: &str,
    config: &Config,
    layers: &SettingsLayers,
    lookup: &impl EnvLookup,
) -> Option<ChosenModel> {
    let lookup = layers.overlay_environment(lookup);
    let chosen = model_choice::choose_model(name, config, &lookup).ok()?;
    layers.available_models().allows(&chosen, config, &lookup).then_some(chosen)
}

/// How requests to this model are written, as things are configured now.
pub fn find_model_wire(name: &str, lookup: &impl EnvLookup) -> Result<ModelWire, CommandError> {
    let config = Config::load(lookup)?;
    let chosen = model_choice::choose_model(name, &config, lookup)?;
    Ok(ModelWire::resolve(&chosen, &config, lookup))
}

/// Another model for the rest of a session. The conversation stays; signatures of one provider are left
/// out for another, as on a fallback.
#[derive(Clone, Debug)]
pub struct ModelSwitch {
    chosen: ChosenModel,
    needs_endpoint: bool,
    config: Config,
    layers: SettingsLayers,
}

impl ModelSwitch {
    /// `own` is the model that settings may not take away: the one the session has already.
    pub fn plan(
        wanted: &str,
        own: &str,
        layers: &SettingsLayers,
        endpoints: &EndpointDescriptions,
    ) -> Result<Self, CommandError> {
        let config = endpoints.config.clone();
        let lookup = layers.overlay_environment(&process_environment);
        let chosen = model_choice::choose_model(wanted, &config, &lookup)?;
        if ![wanted, &chosen.name, &chosen.full_name()].contains(&own) {
            layers.available_models().check(&chosen, &config, &lookup)?;
        }
        let name = ModelName::from(chosen.name.as_str());
        let needs_endpoint = endpoints.for_model(Some(&name)).provider != chosen.provider;
        let layers = layers.clone();
        Ok(Self { chosen, needs_endpoint, config, layers })
    }

    /// Whether [`ModelSwitch::resolve_endpoint`] has something to do.
    pub fn needs_endpoint(&self) -> bool {
        self.needs_endpoint
    }

    pub fn provider(&self) -> &str {
        &self.chosen.provider
    }

    /// The endpoint of a provider that is not in use yet. Finding its key may ask the key ring.
    pub async fn resolve_endpoint(&self) -> Result<Option<ModelEndpoint>, CommandError> {
        if !self.needs_endpoint {
            return Ok(None);
        }
        let Self { chosen, config, layers, .. } = self.clone();
        let resolved = tokio::task::spawn_blocking(move || {
            let lookup = layers.overlay_environment(&process_environment);
            endpoint::resolve_endpoint(&chosen, &config, &mut CredentialCache::default(), &lookup)
        });
        let resolved = resolved.await.map_err(|error| CommandError::failure(error.to_string()))?;
        resolved.map(Some)
    }

    /// Asks the model from the next request on.
    pub fn apply(
        self,
        resolved: Option<ModelEndpoint>,
        session: &Session,
        endpoints: &mut EndpointDescriptions,
    ) -> Result<ModelFacts, CommandError> {
        let facts = self.chosen.facts();
        if let Some(ModelEndpoint { endpoint, description }) = resolved {
            let added = session.add_endpoint(facts.name.clone(), endpoint);
            added.map_err(|error| CommandError::failure(error.to_string()))?;
            endpoints.by_model.insert(facts.name.clone(), description);
        }
        let changed = session.configure([SettingsChange::Model(facts.clone())]);
        changed.map_err(|error| CommandError::failure(error.to_string()))?;
        Ok(facts)
    }
}
