//! Merges all values but rules, with their origins; hooks stay separate by layer.

use serde_json::{Map, Value};
use windlass_permission::permission_layer::SettingsSource;

use crate::loaded_settings::{LoadedSettings, SourcedValue};
use crate::merge_layers;
use crate::prune::to_dotted_key;
use crate::settings::SettingsFile;
use crate::settings_key;
use crate::settings_layer::SettingsLayer;
use crate::settings_location::SettingsRequest;
use crate::trust::split_by_trust;

/// Merges everything except rules.
pub(crate) fn merge_values(
    request: &SettingsRequest,
    layers: &[SettingsLayer],
    loaded: &mut LoadedSettings,
) {
    let idle_lists: Vec<&(&str, &str, &str)> =
        MANAGED_LISTS.iter().filter(|list| is_for_managed_only(layers, list)).collect();
    let mut effective: Vec<EffectiveLayer<'_>> = Vec::new();
    for layer in layers {
        let is_open = matches!(layer.source, SettingsSource::Flag | SettingsSource::Managed);
        if (request.only_restricts && !is_open) || layer.may_only_restrict() {
            continue;
        }
        let mut settings = match loaded.trust.is_given() || !layer.is_project_or_local() {
            true => layer.settings.clone(),
            false => split_by_trust(&layer.settings, false).0,
        };
        settings.remove("permissions");
        if layer.is_project_or_local() {
            // A project must not decide when the user's sessions are deleted.
            settings.remove("cleanupPeriodDays");
            settings.remove("snapshotMegabytesMax");
            settings.remove("snapshotPeriodDays");
            // Nor where the user's key is sent, unless the user accepted that host.
            if let Some(Value::Object(variables)) = settings.get_mut("env") {
                variables.retain(|name, _| loaded.trust.accepts_endpoint(&layer.name, name));
            }
            // Unused keys are not part of the trust digest, so they are dropped here.
            settings.retain(|key, value| {
                settings_key::is_used(key) || settings_key::is_harmless(key, value)
            });
        }
        if layer.source != SettingsSource::Managed {
            MANAGED_ONLY.iter().for_each(|key| drop(settings.remove(*key)));
            for (part, switch, _) in &MANAGED_LISTS {
                remove_sandbox_key(&mut settings, part, switch);
            }
            for (part, _, list) in &idle_lists {
                remove_sandbox_key(&mut settings, part, list);
            }
        }
        effective.push(EffectiveLayer { layer, settings });
    }
    extract_hooks(&mut effective, loaded);
    let maps: Vec<(SettingsSource, &Map<String, Value>)> =
        effective.iter().map(|one| (one.layer.source, &one.settings)).collect();
    let (merged, origins) = merge_layers::merge_layers(&maps);
    // Each layer is valid, and so is their merge.
    loaded.settings =
        serde_json::from_value::<SettingsFile>(Value::Object(merged)).unwrap_or_default();
    for (pointer, numbers) in origins {
        let names = numbers.into_iter().filter_map(|number| effective.get(number));
        let names = names.map(|one| one.layer.name.clone()).collect();
        loaded.origins.insert(to_dotted_key(&pointer), names);
    }
}

/// Lists in the parts of `sandbox`, and the administrator's switches that leave only the
/// administrator's own entries in them.
static MANAGED_LISTS: [(&str, &str, &str); 2] = [
    ("network", "allowManagedDomainsOnly", "allowedDomains"),
    ("filesystem", "allowManagedReadPathsOnly", "allowRead"),
];

fn is_for_managed_only(layers: &[SettingsLayer], (part, switch, _): &(&str, &str, &str)) -> bool {
    let is_set = |layer: &SettingsLayer| {
        let value = layer.settings.get("sandbox").and_then(|all| all.get(part)?.get(switch));
        value == Some(&Value::Bool(true))
    };
    layers.iter().any(|layer| layer.source == SettingsSource::Managed && is_set(layer))
}

fn remove_sandbox_key(settings: &mut Map<String, Value>, part: &str, key: &str) {
    if let Some(Value::Object(sandbox)) = settings.get_mut("sandbox")
        && let Some(Value::Object(part)) = sandbox.get_mut(part)
    {
        part.remove(key);
    }
}

struct EffectiveLayer<'a> {
    layer: &'a SettingsLayer,
    settings: Map<String, Value>,
}

impl EffectiveLayer<'_> {
    fn is_managed(&self) -> bool {
        self.layer.source == SettingsSource::Managed
    }

    fn sets(&self, key: &str) -> bool {
        self.settings.get(key) == Some(&Value::Bool(true))
    }
}

/// Extracts the hooks. Only the administrator can disable the administrator's hooks.
fn extract_hooks(layers: &mut [EffectiveLayer<'_>], loaded: &mut LoadedSettings) {
    let managed_sets = |key| layers.iter().any(|one| one.is_managed() && one.sets(key));
    let has_none = managed_sets("disableAllHooks");
    let has_managed_only = layers.iter().any(|one| one.sets("disableAllHooks"))
        || managed_sets("allowManagedHooksOnly");
    for one in layers {
        let Some(Value::Object(hooks)) = one.settings.remove("hooks") else { continue };
        if has_none || (has_managed_only && !one.is_managed()) {
            continue;
        }
        loaded.hooks.push(SourcedValue {
            source: one.layer.source,
            name: one.layer.name.clone(),
            value: hooks,
        });
    }
}

const MANAGED_ONLY: &[&str] = &["allowManagedHooksOnly", "allowManagedPermissionRulesOnly"];
