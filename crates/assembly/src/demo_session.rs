//! The session of `windlass demo`: the built-in tools and a scripted model server, no settings and no key.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_driver::engine_settings::Settings;
use windlass_driver::{Endpoint, SessionBuilder, ToolRegistry, ToolSessionContext};
use windlass_host::random;
use windlass_permission::Policy;
use windlass_provider::config::model::ModelConfig;
use windlass_vocabulary::{PermissionMode, WireFormat};

use crate::directories::build_scratch_path;
use crate::resolved::{SYSTEM_PROMPT, build_system_context};

/// Permissions are bypassed, because the project is a fresh directory and the script is ours. Also returns
/// the directory for long outputs.
pub fn build_demo_session(project: &Path, base_url: &str) -> (SessionBuilder, PathBuf) {
    let mut settings = Settings::new(ModelConfig::default().to_model_facts("rehearsed"));
    settings.policy = Policy {
        mode: PermissionMode::BypassPermissions,
        directories: vec![project.to_string_lossy().into_owned()],
        ..Policy::default()
    };
    settings.prompt.system_prompt = Arc::from(SYSTEM_PROMPT);
    settings.prompt.system_context = build_system_context(project);
    settings.limits.turns_max = 20;
    settings.retry.jitter_seed = random::generate_seed();
    let spill_directory = build_scratch_path();
    let builder =
        SessionBuilder::new(settings, Endpoint::new(WireFormat::AnthropicMessages, base_url))
            .registry(ToolRegistry::with_builtin_tools())
            .tool_context(ToolSessionContext::new(project, &spill_directory));
    (builder, spill_directory)
}
