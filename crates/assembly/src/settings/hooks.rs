//! The hooks of all settings in force.
//!
//! Which layers may bring hooks at all is decided where settings are read; what a hook means is known
//! to the crate `hook`.

use std::path::Path;
use std::sync::Arc;

use windlass_driver::hooks::{
    HookHttpPolicy, HookSource, HookType, ScriptGuard, TrustedScriptCheck,
};
use windlass_driver::{GuardedCommandLine, HookSet};
use windlass_settings::{SettingsSource, TrustedScripts};

use super::SettingsLayers;

impl SettingsLayers {
    /// The hooks, lowest layer first, and one line for each that cannot be used.
    pub fn read_hooks(&self) -> (HookSet, Vec<String>) {
        let mut hooks = HookSet::default();
        let mut problems = Vec::new();
        let guard = self.build_script_guard();
        for layer in &self.loaded.hooks {
            let value = serde_json::Value::Object(layer.value.clone());
            let mut source = HookSource::new(layer.name.as_str());
            if is_from_project(layer.source) {
                source.script_guard = guard.clone();
            }
            let (parsed, unusable) = HookSet::parse(&value, &source);
            hooks = hooks.join(parsed);
            problems.extend(unusable);
        }
        for plugin in self.plugins.iter().filter(|_| self.allows_extension_hooks()) {
            let name = plugin_hook_source(&plugin.name);
            match plugin.read_hooks() {
                Ok(None) => {}
                Ok(Some(value)) => {
                    let source = HookSource {
                        variables: plugin.environment_variables(),
                        ..HookSource::new(name)
                    };
                    let (parsed, unusable) = HookSet::parse(&value, &source);
                    hooks = hooks.join(parsed);
                    problems.extend(unusable);
                }
                Err(problem) => problems.push(format!("{name}: {problem}; its hooks are left out")),
            }
        }
        problems.extend(find_missing_programs(&hooks));
        let settings = &self.loaded.settings;
        let hooks = hooks.with_http_policy(HookHttpPolicy {
            allowed_urls: settings.hooks.allowed_http_hook_urls.clone(),
            allowed_env_vars: settings.hooks.http_hook_allowed_env_vars.clone(),
        });
        (hooks, problems)
    }

    /// Checks that scripts of the project are still those that were trusted.
    pub(crate) fn build_script_guard(&self) -> ScriptGuard {
        // They run where the session starts.
        let cwd = std::env::current_dir().unwrap_or_else(|_| self.loaded.trust.root.clone());
        ScriptGuard::new(Arc::new(ProjectScripts(self.loaded.trusted_scripts(&cwd))))
    }

    /// The command line of a setting, checked before each start if the project set it.
    pub fn guard_command_line(&self, key: &str, line: &str) -> GuardedCommandLine {
        let guard = match self.loaded.is_set_by_project(key) {
            true => self.build_script_guard(),
            false => ScriptGuard::default(),
        };
        GuardedCommandLine { line: line.to_owned(), guard }
    }

    /// The hooks that may run. What is wrong with others is among the warnings from now on.
    pub fn load_hooks(&mut self) -> HookSet {
        let (hooks, problems) = self.read_hooks();
        self.extra_warnings.extend(problems);
        hooks
    }

    /// May plugins, skills, agents and commands have hooks?
    pub(crate) fn allows_extension_hooks(&self) -> bool {
        let settings = &self.loaded.settings;
        settings.hooks.disable_all_hooks != Some(true)
            && settings.hooks.allow_managed_hooks_only != Some(true)
    }
}

fn is_from_project(source: SettingsSource) -> bool {
    matches!(source, SettingsSource::Project | SettingsSource::Local)
}

/// The scripts of a trusted project, checked when one is about to run.
#[derive(Debug)]
struct ProjectScripts(TrustedScripts);

impl TrustedScriptCheck for ProjectScripts {
    fn find_changed_script(&self, command_line: &str) -> Option<String> {
        self.0.find_changed(command_line).map(|path| path.display().to_string())
    }
}

/// Programs that hooks name by their whole path and that do not exist. The hooks still run: the program
/// may be there by then.
fn find_missing_programs(hooks: &HookSet) -> Vec<String> {
    let mut lines = Vec::new();
    for hook in hooks.list().iter().filter(|hook| hook.kind == HookType::Command) {
        let program = hook.name.split_whitespace().next().unwrap_or_default();
        if program.starts_with('/') && !Path::new(program).exists() {
            let event = hook.event.name();
            let line = format!("{}: the hook at {event}: {program} does not exist", hook.source);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}

/// What messages call the hooks of a plugin.
pub(crate) fn plugin_hook_source(plugin: &str) -> String {
    format!("plugin {plugin}")
}
