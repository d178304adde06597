//! Tools without a session: everything a call needs and nothing that asks a model.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_driver::{HookSet, ToolRegistry, ToolSessionContext};
use windlass_permission::Policy;

use super::directories::{
    build_read_rule, build_tool_context, prepare_tool_context, working_directory,
};
use super::resolved::load_policy;
use crate::options::{PermissionOptions, SettingsOptions};
use crate::{sandbox, tool_selection};
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_provider::config::Config;

/// Tools, where they work and what may run.
#[derive(Debug)]
pub struct ToolsOnly {
    /// The tools.
    pub registry: ToolRegistry,
    /// Where they work.
    pub tool_context: Arc<ToolSessionContext>,
    /// What may run; nobody can be asked.
    pub policy: Policy,
    /// Who looks at calls first.
    pub hooks: HookSet,
    /// A directory to remove at the end.
    pub scratch_directory: Option<PathBuf>,
    /// What people should know.
    pub notes: Vec<String>,
}

/// The tools that the flags and the settings in force give.
pub fn build_tools_only(
    permission: &PermissionOptions,
    settings: &SettingsOptions,
    lookup: &impl EnvLookup,
) -> Result<ToolsOnly, CommandError> {
    let cwd = working_directory()?;
    let (mut policy, mut layers) = load_policy(permission, settings, lookup)?;
    let config = Config::load(lookup)?;
    let registry = tool_selection::select_tools(&permission.tools, &policy)?.registry;
    let (surroundings, scratch) = build_tool_context(&cwd, None);
    policy.rules.allow.push(build_read_rule(&surroundings.processes.spill_directory));
    let more = policy.directories.iter().skip(1).map(PathBuf::from).collect();
    let mut surroundings = prepare_tool_context(surroundings, more, &policy, &config, &layers);
    let held = layers.resolve_sandbox(permission.sandbox, &permission.sandbox_allow_domain);
    let mut notes: Vec<String> = Vec::new();
    notes.extend(sandbox::confine_commands(&held, &mut surroundings, &mut policy)?);
    let hooks = layers.load_hooks();
    notes.extend(layers.warnings());
    let surroundings = Arc::new(surroundings);
    Ok(ToolsOnly {
        registry,
        tool_context: surroundings,
        policy,
        hooks,
        scratch_directory: scratch,
        notes,
    })
}
