//! Tools without a session: everything a call needs and nothing that asks a model.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_driver::{HookSet, ToolRegistry, ToolSessionContext};
use windlass_permission::Policy;

use crate::directories::working_directory;
use crate::options::{PermissionOptions, SettingsOptions};
use crate::resolved::load_policy;
use crate::tool_context::ToolContextRequest;
use crate::tool_selection;
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;
use windlass_provider::config::Config;

#[derive(Debug)]
pub struct ToolsOnly {
    pub registry: ToolRegistry,
    pub tool_context: Arc<ToolSessionContext>,
    /// It cannot ask, because there is no front end.
    pub policy: Policy,
    pub hooks: HookSet,
    /// To be removed at the end.
    pub scratch_directory: Option<PathBuf>,
    pub notes: Vec<String>,
}

/// The tools that the flags and the settings in force give.
pub fn build_tools_only(
    permission: &PermissionOptions,
    settings: &SettingsOptions,
    lookup: &impl EnvLookup,
) -> Result<ToolsOnly, CommandError> {
    let cwd = working_directory()?;
    let (policy, mut layers) = load_policy(permission, settings, lookup)?;
    let config = Config::load(lookup)?;
    let registry = tool_selection::select_tools(&permission.tools, &policy)?.registry;
    let prepared = ToolContextRequest {
        cwd: &cwd,
        journal: None,
        inherited_spills: Vec::new(),
        directories: policy.directories.iter().skip(1).map(PathBuf::from).collect(),
        policy,
        permission,
        config: &config,
        layers: &layers,
    }
    .prepare()?;
    let hooks = layers.load_hooks();
    let mut notes = prepared.notes;
    notes.extend(layers.warnings());
    Ok(ToolsOnly {
        registry,
        tool_context: Arc::new(prepared.tool_context),
        policy: prepared.policy,
        hooks,
        scratch_directory: prepared.scratch_directory,
        notes,
    })
}
