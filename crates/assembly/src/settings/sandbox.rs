//! What commands run in: the sandbox and its environment variables.

use std::ffi::OsString;

use windlass_driver::ToolSessionContext;

use super::SettingsLayers;
use crate::options::SandboxUse;
use crate::sandbox::SandboxConfig;

impl SettingsLayers {
    /// The flags count before the settings, unless managed settings turn the sandbox on.
    pub(crate) fn resolve_sandbox(
        &self,
        flag: Option<SandboxUse>,
        hosts: &[String],
    ) -> SandboxConfig {
        let settings = self.loaded.settings.sandbox.clone().unwrap_or_default();
        let managed = self.loaded.is_managed("sandbox.enabled") && settings.enabled == Some(true);
        let when = flag.filter(|_| !managed).unwrap_or(
            match (settings.enabled, settings.fail_if_unavailable) {
                (Some(true), Some(true)) => SandboxUse::Required,
                (Some(true), _) => SandboxUse::Auto,
                _ => SandboxUse::Off,
            },
        );
        let written = serde_json::to_value(&settings).unwrap_or_default();
        let mut config = SandboxConfig::from_settings(&written).with_flags(when, hosts);
        // A model that could leave what the user insists on would be held by nothing.
        config.allow_unsandboxed_commands &= flag != Some(SandboxUse::Required);
        config
    }

    /// Sets the variables of the settings for tools. The caller removes those that hold keys.
    pub(crate) fn export_variables(&self, tool_context: &mut ToolSessionContext) {
        // Commands do not get the telemetry settings, which may contain a collector's key.
        let shown = self.loaded.variables().filter(|(name, _)| !name.starts_with("OTEL_"));
        for (name, value) in shown {
            tool_context.processes.environment.retain(|(known, _)| known != name);
            tool_context.processes.environment.push((OsString::from(name), OsString::from(value)));
        }
    }
}
