//! Who is asked: the first model, those after it, and the one for small work. Flags go before the
//! environment, the environment before the user's file.

use super::{Chosen, choose};
use crate::args::ModelArgs;
use crate::config::Config;
use crate::environment::{self, Lookup};
use crate::refusal::Refusal;

/// Everybody who may be asked in a session.
#[derive(Clone, Debug)]
pub(crate) struct Cast {
    /// First choice of every run.
    pub(crate) first: Chosen,
    /// Asked when it is overloaded or gone, in order.
    pub(crate) fallbacks: Vec<Chosen>,
    /// Writes summaries; without it the first does.
    pub(crate) small: Option<Chosen>,
}

impl Cast {
    /// Those who answer, in order.
    pub(crate) fn chain(&self) -> impl Iterator<Item = &Chosen> {
        std::iter::once(&self.first).chain(&self.fallbacks)
    }

    /// Everybody.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Chosen> {
        self.chain().chain(&self.small)
    }
}

/// Chooses everybody.
pub(crate) fn cast(
    args: &ModelArgs,
    config: &Config,
    lookup: &impl Lookup,
) -> Result<Cast, Refusal> {
    let first = match &args.model {
        Some(name) => Some(name.clone()),
        None => environment::first_text(lookup, &["WINDLASS_MODEL", "ANTHROPIC_MODEL"])?,
    };
    let first = first.or_else(|| config.default_model.clone()).unwrap_or_default();
    let first = choose(&first, config, lookup)?;
    let mut cast = Cast { first, fallbacks: Vec::new(), small: None };
    let named = match args.fallback_model.as_slice() {
        [] => &config.fallback_models,
        given => given,
    };
    for name in named.iter().filter(|name| !name.trim().is_empty()) {
        let next = choose(name, config, lookup)?;
        add(&mut cast, next)?;
    }
    if cast.fallbacks.len() > FALLBACKS_MAX {
        return Err(Refusal::usage(format!(
            "--fallback-model takes at most {FALLBACKS_MAX} models; leave some out"
        )));
    }
    let small = match &args.small_model {
        Some(name) => Some(name.clone()),
        None => environment::text(lookup, "ANTHROPIC_SMALL_FAST_MODEL")?,
    };
    if let Some(small) = small.or_else(|| config.small_model.clone()) {
        let small = choose(&small, config, lookup)?;
        refuse_namesake(&cast, &small)?;
        cast.small = Some(small);
    }
    Ok(cast)
}

fn add(cast: &mut Cast, next: Chosen) -> Result<(), Refusal> {
    refuse_namesake(cast, &next)?;
    if cast.chain().all(|known| known.name != next.name) {
        cast.fallbacks.push(next);
    }
    Ok(())
}

/// Requests find their server by the model's name, so one name cannot stand for two servers.
fn refuse_namesake(cast: &Cast, next: &Chosen) -> Result<(), Refusal> {
    let is_namesake = |known: &&Chosen| known.name == next.name && known.provider != next.provider;
    match cast.chain().find(is_namesake) {
        Some(known) => Err(Refusal::usage(format!(
            "{} and {} have the same name at two providers, which one session cannot tell apart; \
             leave one out",
            known.full_name(),
            next.full_name()
        ))),
        None => Ok(()),
    }
}

/// Models asked after the first.
const FALLBACKS_MAX: usize = 3;
