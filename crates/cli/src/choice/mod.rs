//! From a model's name as somebody typed it to the model, its provider and its facts.
//!
//! `provider/name` says it all. A plain name is looked up: short names, listed models, then how
//! families of names begin; what is left belongs to the provider of the default model. Whether the
//! model exists only its server knows. Nothing is asked here, and no key is looked for.

mod available;
mod cast;
mod constraint;
mod others;

use windlass_vocabulary::ModelFacts;

use crate::config::model::Model;
use crate::config::{Config, Known};
use crate::environment::{self, Lookup};
use crate::nearest::nearest;
use crate::refusal::Refusal;

pub(crate) use available::Available;
pub(crate) use cast::{Cast, cast};
pub(crate) use constraint::{Wishes, check, thinking};
pub(crate) use others::others;

/// One model at one provider.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    /// The provider's name here.
    pub(crate) provider: String,
    /// The model's name there.
    pub(crate) name: String,
    /// What is known of it.
    pub(crate) known: Known,
}

impl Chosen {
    fn new(provider: &str, name: &str, config: &Config) -> Self {
        let known = config.model(provider, name);
        Self { provider: provider.to_owned(), name: name.to_owned(), known }
    }

    /// Its row in the table.
    pub(crate) fn model(&self) -> &Model {
        &self.known.model
    }

    /// What the loop must know.
    pub(crate) fn facts(&self) -> ModelFacts {
        self.known.model.facts(&self.name)
    }

    /// `provider/name`.
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.provider, self.name)
    }
}

/// Finds out which model is meant.
pub(crate) fn choose(text: &str, config: &Config, lookup: &impl Lookup) -> Result<Chosen, Refusal> {
    let text = match short(text.trim(), config, lookup)? {
        Some(full) => full,
        None => text.trim().to_owned(),
    };
    if text.is_empty() {
        return Err(Refusal::usage("the model's name is empty; give one with --model"));
    }
    match text.split_once('/') {
        Some((provider, name)) if config.providers.contains_key(provider) => match name {
            "" => Err(nameless(provider, config)),
            name => Ok(Chosen::new(provider, name, config)),
        },
        Some((provider, name)) => Err(no_provider(provider, name, config)),
        None => Ok(plain(&text, config)),
    }
}

/// A short name in full. A variable may give it another meaning.
fn short(text: &str, config: &Config, lookup: &impl Lookup) -> Result<Option<String>, Refusal> {
    let Some(full) = config.short.get(text) else {
        return Ok(None);
    };
    let variable = format!("ANTHROPIC_DEFAULT_{}_MODEL", text.to_ascii_uppercase());
    let other = environment::text(lookup, &variable)?;
    Ok(Some(other.unwrap_or_else(|| full.clone())))
}

fn plain(name: &str, config: &Config) -> Chosen {
    let is_family = |provider: &str| {
        let families = config.providers.get(provider).map(|provider| provider.families.as_slice());
        families.unwrap_or_default().iter().any(|family| name.starts_with(family.as_str()))
    };
    let all = || config.providers.keys().map(String::as_str);
    let listing = || all().filter(|provider| config.model(provider, name).is_listed);
    let default = default_provider(config);
    let provider = listing()
        .find(|provider| is_family(provider))
        .or_else(|| listing().next())
        .or_else(|| all().find(|provider| is_family(provider)))
        .unwrap_or(&default);
    Chosen::new(provider, name, config)
}

/// A provider by its name.
pub(crate) fn provider(name: &str, config: &Config) -> Result<String, Refusal> {
    if config.providers.contains_key(name) {
        return Ok(name.to_owned());
    }
    let known: Vec<&str> = config.providers.keys().map(String::as_str).collect();
    let advice = match nearest(name, known.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("there are {}", known.join(", ")),
    };
    Err(Refusal::usage(format!("there is no provider `{name}`; {advice}")))
}

/// The provider of the default model.
pub(crate) fn default_provider(config: &Config) -> String {
    let named = config.default_model.as_deref().and_then(|model| model.split_once('/'));
    named.map_or(FIRST_PROVIDER, |(provider, _)| provider).to_owned()
}

fn nameless(provider: &str, config: &Config) -> Refusal {
    let example = config.listed(provider).next().unwrap_or("NAME");
    Refusal::usage(format!(
        "`{provider}/` names no model; write for example {provider}/{example}; `windlass models` \
         lists what is known"
    ))
}

fn no_provider(provider: &str, name: &str, config: &Config) -> Refusal {
    let known = || config.providers.keys().map(String::as_str);
    let advice = match nearest(provider, known()) {
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
    Refusal::usage(format!("there is no provider `{provider}`; {advice}"))
}

/// Whose a plain name is when nothing at all is known.
const FIRST_PROVIDER: &str = "anthropic";
