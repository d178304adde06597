//! Tools without a session: everything a call needs and nothing that asks a model.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_driver::{HookSet, Registry, Surroundings};
use windlass_permission::Policy;

use super::decided::policy_here;
use super::place::{prepared, reading_below, surroundings, working_directory};
use crate::args::{PermissionArgs, SettingsArgs};
use crate::config::Config;
use crate::environment::Lookup;
use crate::refusal::Refusal;
use crate::{offer, sandbox};

/// Tools, where they work and what may run.
#[derive(Debug)]
pub(crate) struct Bench {
    /// The tools.
    pub(crate) registry: Registry,
    /// Where they work.
    pub(crate) surroundings: Arc<Surroundings>,
    /// What may run; nobody can be asked.
    pub(crate) policy: Policy,
    /// Who looks at calls first.
    pub(crate) hooks: HookSet,
    /// A directory to remove at the end.
    pub(crate) scratch: Option<PathBuf>,
    /// What people should know.
    pub(crate) notes: Vec<String>,
}

/// The tools that the flags and the settings in force give.
pub(crate) fn bench(
    permission: &PermissionArgs,
    settings: &SettingsArgs,
    lookup: &impl Lookup,
) -> Result<Bench, Refusal> {
    let cwd = working_directory()?;
    let (mut policy, mut layers) = policy_here(permission, settings, lookup)?;
    let config = Config::load(lookup)?;
    let registry = offer::offer(&permission.tools, &policy)?.registry;
    let (surroundings, scratch) = surroundings(&cwd, None);
    policy.rules.allow.push(reading_below(&surroundings.spill));
    let more = policy.directories.iter().skip(1).map(PathBuf::from).collect();
    let mut surroundings = prepared(surroundings, more, &policy, &config, &layers);
    let held = layers.sandbox(permission.sandbox, &permission.sandbox_allow_domain);
    let mut notes: Vec<String> = Vec::new();
    notes.extend(sandbox::confine(&held, &mut surroundings, &mut policy)?);
    let hooks = layers.hooks();
    notes.extend(layers.warnings());
    let surroundings = Arc::new(surroundings);
    Ok(Bench { registry, surroundings, policy, hooks, scratch, notes })
}
