//! Resolves a chosen model to its server: address, credential, limits.
//!
//! Keys are searched in the environment, in the place the user configured and in the key ring, and
//! returned as a credential that hides its value. No error contains a value. Every server gets only
//! its own key.

use std::collections::BTreeMap;

use windlass_driver::{Endpoint, ProviderRules};
use windlass_vocabulary::{ModelName, WireFormat};

use crate::api_key::ProviderCredential;
use crate::base_url::ProviderUrl;
use crate::config::Config;
use crate::config::provider::ProviderConfig;
use crate::keyring;
use crate::keyring::KeyringError;
use crate::model_choice::ChosenModel;
use crate::{api_key, key_source, keyring_key, missing_key, provider_rules};
use windlass_host::command_error::CommandError;
use windlass_host::environment;
use windlass_host::environment::EnvLookup;

#[derive(Clone, Debug)]
pub struct ModelEndpoint {
    pub endpoint: Endpoint,
    pub description: EndpointDescription,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointDescription {
    pub provider: String,
    pub base_url: String,
    /// What to check when the key is rejected.
    pub key_advice: String,
    /// What to check when the address is wrong.
    pub address_advice: String,
}

/// The servers of a session's models.
#[derive(Clone, Debug)]
pub struct EndpointDescriptions {
    /// For suggestions of similar model names.
    pub config: Config,
    /// For models that are not in `by_model`.
    pub primary: EndpointDescription,
    pub by_model: BTreeMap<ModelName, EndpointDescription>,
}

impl EndpointDescriptions {
    pub fn for_model(&self, model: Option<&ModelName>) -> &EndpointDescription {
        model.and_then(|model| self.by_model.get(model)).unwrap_or(&self.primary)
    }
}

/// Keys by provider: each source is queried once, even for several models.
#[derive(Default)]
pub struct CredentialCache(BTreeMap<String, Result<ProviderCredential, Option<KeyringError>>>);

impl CredentialCache {
    fn get_or_find(
        &mut self,
        name: &str,
        provider: &ProviderConfig,
        config: &Config,
        lookup: &impl EnvLookup,
    ) -> Result<Result<ProviderCredential, Option<KeyringError>>, CommandError> {
        if let Some(known) = self.0.get(name) {
            return Ok(known.clone());
        }
        let found = api_key::find_credential(name, provider, config, lookup)?;
        self.0.insert(name.to_owned(), found.clone());
        Ok(found)
    }
}

/// Providers whose servers offer web search. Servers that are only compatible with them do not.
const WEB_SEARCH_PROVIDERS: &[&str] = &["anthropic", "openai", "gemini"];

/// How requests to a model are encoded.
#[derive(Clone, Debug)]
pub struct ModelWire {
    pub wire: WireFormat,
    /// What its server accepts.
    pub rules: ProviderRules,
}

impl ModelWire {
    pub fn resolve(chosen: &ChosenModel, config: &Config, lookup: &impl EnvLookup) -> Self {
        let provider = config.providers.get(&chosen.provider).cloned().unwrap_or_default();
        let wire = provider.wire.unwrap_or(WireFormat::AnthropicMessages);
        let mut rules = provider_rules::resolve_provider_rules(wire, &provider, chosen.model());
        if is_caching_disabled(&chosen.name, lookup) {
            rules.cache_marks_max = 0;
        }
        Self { wire, rules }
    }
}

/// Resolves a model's server. Without a key, the error lists alternatives.
pub fn resolve_endpoint(
    chosen: &ChosenModel,
    config: &Config,
    credentials: &mut CredentialCache,
    lookup: &impl EnvLookup,
) -> Result<ModelEndpoint, CommandError> {
    let provider = config.providers.get(&chosen.provider).cloned().unwrap_or_default();
    let ModelWire { wire, rules } = ModelWire::resolve(chosen, config, lookup);
    let ProviderUrl { base_url, advice: address_advice } =
        ProviderUrl::resolve(&provider, &chosen.provider, config, lookup)?;
    let is_local = environment::parse_local_address(&base_url).is_some();
    let found = credentials.get_or_find(&chosen.provider, &provider, config, lookup)?;
    let ProviderCredential { credential, advice, refresh: renewal } = match found {
        Ok(proof) => proof,
        Err(_) if is_local || provider.needs_no_key() => {
            ProviderCredential::without_key(&chosen.provider, &provider)
        }
        Err(error) => {
            return Err(missing_key::missing_key_error(
                chosen,
                &provider,
                config,
                error.as_ref(),
                lookup,
            ));
        }
    };
    let mut endpoint = Endpoint::new(wire, base_url.clone()).credential(credential);
    endpoint = endpoint.with_web_search(WEB_SEARCH_PROVIDERS.contains(&chosen.provider.as_str()));
    endpoint.headers = provider.headers.clone();
    if let Some(variable) = &provider.headers_env {
        endpoint.headers.extend(environment::read_headers(lookup, variable)?);
    }
    endpoint = endpoint.with_provider_rules(rules);
    if let Some(renewal) = renewal {
        endpoint = endpoint.with_renewal(move || renewal.fetch_credential());
    }
    let place = EndpointDescription {
        provider: chosen.provider.clone(),
        base_url,
        key_advice: advice,
        address_advice,
    };
    Ok(ModelEndpoint { endpoint, description: place })
}

/// Is caching disabled, for all models or for this one's family?
fn is_caching_disabled(model: &str, lookup: &impl EnvLookup) -> bool {
    let is_family_off = |family: &str| {
        let variable = format!("DISABLE_PROMPT_CACHING_{}", family.to_ascii_uppercase());
        model.contains(family) && environment::is_set(lookup, &variable)
    };
    environment::is_set(lookup, "DISABLE_PROMPT_CACHING")
        || ["haiku", "sonnet", "opus", "fable"].into_iter().any(is_family_off)
}

/// The key in the key ring for this provider and address, if one is needed.
pub fn read_keyring_key(
    name: &str,
    base_url: &str,
    config: &Config,
    lookup: &impl EnvLookup,
) -> Option<String> {
    let provider = config.providers.get(name)?;
    if !keyring_key::uses_keyring(provider)
        || !key_source::list_configured_sources(provider, config, lookup).is_empty()
    {
        return None;
    }
    let fetched =
        keyring_key::fetch_keyring_key(name, &keyring::url_origin(base_url)?, config, lookup)
            .ok()?;
    fetched.map(|fetched| fetched.key)
}
