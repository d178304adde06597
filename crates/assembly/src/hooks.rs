//! The hooks of all settings in force, for a session or for people who look at them.
//!
//! Which layers may bring hooks at all is decided where settings are read; what they mean is known
//! to the hooks' own room.

use std::path::Path;

use windlass_driver::HookSet;
use windlass_driver::hooks::{HookHttpPolicy, HookSource};

use crate::settings::SettingsLayers;

/// The hooks, lowest layer first, and one line for each that cannot be used.
pub fn load_hooks(layers: &SettingsLayers) -> (HookSet, Vec<String>) {
    let mut all = HookSet::default();
    let mut problems = Vec::new();
    for layer in &layers.loaded.hooks {
        let value = serde_json::Value::Object(layer.value.clone());
        let (set, wrong) = HookSet::parse(&value, &HookSource::new(layer.name.as_str()));
        all = all.join(set);
        problems.extend(wrong);
    }
    for plugin in layers.plugins.iter().filter(|_| layers.allows_extension_hooks()) {
        let name = format!("plugin {}", plugin.name);
        match plugin.read_hooks() {
            Ok(None) => {}
            Ok(Some(value)) => {
                let source = HookSource { name, variables: plugin.environment_variables() };
                let (set, wrong) = HookSet::parse(&value, &source);
                all = all.join(set);
                problems.extend(wrong);
            }
            Err(problem) => problems.push(format!("{name}: {problem}; its hooks are left out")),
        }
    }
    problems.extend(find_missing_programs(&all));
    let settings = &layers.loaded.settings;
    let all = all.with_http_policy(HookHttpPolicy {
        allowed_urls: settings.hooks.allowed_http_hook_urls.clone(),
        allowed_env_vars: settings.hooks.http_hook_allowed_env_vars.clone(),
    });
    (all, problems)
}

/// Programs that hooks name by their whole path and that are not there. They are asked all the same: what
/// is not there now may be there then.
fn find_missing_programs(all: &HookSet) -> Vec<String> {
    let mut lines = Vec::new();
    for hook in all.list().iter().filter(|hook| hook.kind == "command") {
        let program = hook.name.split_whitespace().next().unwrap_or_default();
        if program.starts_with('/') && !Path::new(program).exists() {
            let (source, event) = (&hook.source, hook.event.name());
            let line = format!("{source}: the hook at {event}: {program} is not there");
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    lines
}
