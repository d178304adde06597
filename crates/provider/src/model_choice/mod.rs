//! Resolves a model's name as the user typed it to the model, its provider and its facts.
//!
//! `provider/name` is complete. A plain name is looked up: short names, listed models, then prefixes
//! of families; any other name belongs to the provider of the default model. Only the server knows
//! whether the model exists. Sends no requests and searches no keys.

mod available_models;
mod capability_check;
mod model_chain;
mod named_models;

use windlass_vocabulary::ModelFacts;

use crate::config::model::ModelConfig;
use crate::config::{Config, ResolvedModel};
use windlass_config_text::find_similar_name;
use windlass_host::command_error::CommandError;
use windlass_host::environment;
use windlass_host::environment::EnvLookup;

pub use available_models::AvailableModels;
pub use capability_check::{ModelRequirements, check_capabilities, resolve_thinking_mode};
pub use model_chain::{ModelChain, choose_model_chain};
pub use named_models::list_named_models;

#[derive(Clone, Debug)]
pub struct ChosenModel {
    pub provider: String,
    pub name: String,
    pub resolved: ResolvedModel,
}

impl ChosenModel {
    fn new(provider: &str, name: &str, config: &Config) -> Self {
        let resolved = config.resolve_model(provider, name);
        Self { provider: provider.to_owned(), name: name.to_owned(), resolved }
    }

    pub fn model(&self) -> &ModelConfig {
        &self.resolved.model
    }

    pub fn facts(&self) -> ModelFacts {
        self.resolved.model.to_model_facts(&self.name)
    }

    /// `provider/name`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.provider, self.name)
    }
}

pub fn choose_model(
    text: &str,
    config: &Config,
    lookup: &impl EnvLookup,
) -> Result<ChosenModel, CommandError> {
    let text = match resolve_alias(text.trim(), config, lookup)? {
        Some(full) => full,
        None => text.trim().to_owned(),
    };
    if text.is_empty() {
        return Err(CommandError::usage("the model's name is empty; give one with --model"));
    }
    match text.split_once('/') {
        Some((provider, name)) if config.providers.contains_key(provider) => match name {
            "" => Err(missing_model_name_error(provider, config)),
            name => Ok(ChosenModel::new(provider, name, config)),
        },
        Some((provider, name)) => Err(unknown_provider_error(provider, name, config)),
        None => Ok(choose_by_plain_name(&text, config)),
    }
}

/// Expands a short name. A variable may redefine it.
fn resolve_alias(
    text: &str,
    config: &Config,
    lookup: &impl EnvLookup,
) -> Result<Option<String>, CommandError> {
    let Some(full) = config.aliases.get(text) else {
        return Ok(None);
    };
    let variable = format!("ANTHROPIC_DEFAULT_{}_MODEL", text.to_ascii_uppercase());
    let other = environment::read_variable(lookup, &variable)?;
    Ok(Some(other.unwrap_or_else(|| full.clone())))
}

fn choose_by_plain_name(name: &str, config: &Config) -> ChosenModel {
    let is_family = |provider: &str| {
        let families = config.providers.get(provider).map(|provider| provider.families.as_slice());
        families.unwrap_or_default().iter().any(|family| name.starts_with(family.as_str()))
    };
    let all = || config.providers.keys().map(String::as_str);
    let listing = || all().filter(|provider| config.resolve_model(provider, name).is_listed);
    let default = default_provider(config);
    let provider = listing()
        .find(|provider| is_family(provider))
        .or_else(|| listing().next())
        .or_else(|| all().find(|provider| is_family(provider)))
        .unwrap_or(&default);
    ChosenModel::new(provider, name, config)
}

pub fn check_provider_name(name: &str, config: &Config) -> Result<String, CommandError> {
    if config.providers.contains_key(name) {
        return Ok(name.to_owned());
    }
    let known: Vec<&str> = config.providers.keys().map(String::as_str).collect();
    let advice = match find_similar_name(name, known.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("there are {}", known.join(", ")),
    };
    Err(CommandError::usage(format!("there is no provider `{name}`; {advice}")))
}

pub fn default_provider(config: &Config) -> String {
    let named = config.default_model.as_deref().and_then(|model| model.split_once('/'));
    named.map_or(DEFAULT_PROVIDER, |(provider, _)| provider).to_owned()
}

fn missing_model_name_error(provider: &str, config: &Config) -> CommandError {
    let example = config.listed_models(provider).next().unwrap_or("NAME");
    CommandError::usage(format!(
        "`{provider}/` names no model; write for example {provider}/{example}; `windlass models` \
         lists what is known"
    ))
}

fn unknown_provider_error(provider: &str, name: &str, config: &Config) -> CommandError {
    let known = || config.providers.keys().map(String::as_str);
    let advice = match find_similar_name(provider, known()) {
        Some(near) => format!("did you mean {near}/{name}?"),
        None => {
            let known: Vec<&str> = known().collect();
            let path = config
                .path
                .as_ref()
                .map_or_else(|| "your config.toml".to_owned(), |path| path.display().to_string());
            format!(
                "use one of {}, or add [provider.{provider}] to {path}; a name with a slash at a \
                 provider is provider/{provider}/{name}",
                known.join(", ")
            )
        }
    };
    CommandError::usage(format!("there is no provider `{provider}`; {advice}"))
}

/// The provider of a plain name if there is no default model.
const DEFAULT_PROVIDER: &str = "anthropic";
