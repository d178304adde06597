//! The models of a session: the first, its fallbacks, and the one for small work. Flags override the
//! environment, which overrides the user's file.

use super::{ChosenModel, choose_model};
use crate::config::Config;
use crate::model_options::ModelOptions;
use windlass_host::command_error::CommandError;
use windlass_host::environment;
use windlass_host::environment::EnvLookup;

/// The models a session may use.
#[derive(Clone, Debug)]
pub struct ModelChain {
    pub primary: ChosenModel,
    /// Used in this order when it is overloaded or unavailable.
    pub fallbacks: Vec<ChosenModel>,
    /// Writes summaries; `None` means the first model does.
    pub small: Option<ChosenModel>,
}

impl ModelChain {
    pub(crate) fn primary_and_fallbacks(&self) -> impl Iterator<Item = &ChosenModel> {
        std::iter::once(&self.primary).chain(&self.fallbacks)
    }

    pub fn all(&self) -> impl Iterator<Item = &ChosenModel> {
        self.primary_and_fallbacks().chain(&self.small)
    }
}

pub fn choose_model_chain(
    options: &ModelOptions,
    config: &Config,
    lookup: &impl EnvLookup,
) -> Result<ModelChain, CommandError> {
    let first = match &options.model {
        Some(name) => Some(name.clone()),
        None => environment::read_first_variable(lookup, &["WINDLASS_MODEL", "ANTHROPIC_MODEL"])?,
    };
    let first = first.or_else(|| config.default_model.clone()).unwrap_or_default();
    let first = choose_model(&first, config, lookup)?;
    let mut model_chain = ModelChain { primary: first, fallbacks: Vec::new(), small: None };
    let named = match options.fallback_model.as_slice() {
        [] => &config.fallback_models,
        given => given,
    };
    for name in named.iter().filter(|name| !name.trim().is_empty()) {
        let next = choose_model(name, config, lookup)?;
        add_fallback(&mut model_chain, next)?;
    }
    if model_chain.fallbacks.len() > FALLBACKS_MAX {
        return Err(CommandError::usage(format!(
            "--fallback-model takes at most {FALLBACKS_MAX} models; leave some out"
        )));
    }
    let small = match &options.small_model {
        Some(name) => Some(name.clone()),
        None => environment::read_variable(lookup, "ANTHROPIC_SMALL_FAST_MODEL")?,
    };
    if let Some(small) = small.or_else(|| config.small_model.clone()) {
        let small = choose_model(&small, config, lookup)?;
        refuse_ambiguous_name(&model_chain, &small)?;
        model_chain.small = Some(small);
    }
    Ok(model_chain)
}

fn add_fallback(model_chain: &mut ModelChain, next: ChosenModel) -> Result<(), CommandError> {
    refuse_ambiguous_name(model_chain, &next)?;
    if model_chain.primary_and_fallbacks().all(|known| known.name != next.name) {
        model_chain.fallbacks.push(next);
    }
    Ok(())
}

/// Requests find their server by the model's name, so one name cannot stand for two servers.
fn refuse_ambiguous_name(model_chain: &ModelChain, next: &ChosenModel) -> Result<(), CommandError> {
    let is_namesake =
        |known: &&ChosenModel| known.name == next.name && known.provider != next.provider;
    match model_chain.primary_and_fallbacks().find(is_namesake) {
        Some(known) => Err(CommandError::usage(format!(
            "{} and {} have the same name at two providers, which one session cannot tell apart; \
             leave one out",
            known.full_name(),
            next.full_name()
        ))),
        None => Ok(()),
    }
}

/// Limit on fallback models.
const FALLBACKS_MAX: usize = 3;
