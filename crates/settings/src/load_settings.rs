//! The door: reads every layer, holds back what the user has not trusted, and puts the rest together.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use windlass_permission::permission_layer::{self, PermissionLayer, SettingsSource};

use crate::file_stamp::FileOverrides;
use crate::loaded_settings::{
    LoadedRuleList, LoadedSettings, SettingsFileRead, SettingsFileState, SourcedValue,
};
use crate::mcp_server_files;
use crate::merge_layers;
use crate::prune::to_dotted_key;
use crate::settings::SettingsFile;
use crate::settings_key;
use crate::settings_layer::SettingsLayer;
use crate::settings_location::{self, SettingsCandidate, SettingsRequest};
use crate::settings_problem::{ProblemSeverity, SettingsProblem};
use crate::trust::{
    ProjectTrust, TrustItem, TrustState, TrustStore, find_prompt_files, find_scripts,
    split_by_trust,
};

/// Reads the settings in force.
#[must_use]
pub fn load_settings(request: &SettingsRequest) -> LoadedSettings {
    load_with_overrides(request, &FileOverrides::new())
}

/// Everything that may hold settings.
pub(crate) fn find_candidates(request: &SettingsRequest) -> Vec<SettingsCandidate> {
    let (request, root) = resolve_request(request);
    settings_location::list_candidates(&request, &root)
}

/// The request with the real path of where we are, and the root of the project.
fn resolve_request(request: &SettingsRequest) -> (SettingsRequest, PathBuf) {
    let cwd = request.cwd.canonicalize().unwrap_or_else(|_| request.cwd.clone());
    let root = settings_location::find_project_root(&cwd);
    (SettingsRequest { cwd, ..request.clone() }, root)
}

/// The same, where some files are taken to say something else than what is in them.
pub(crate) fn load_with_overrides(
    request: &SettingsRequest,
    held: &FileOverrides,
) -> LoadedSettings {
    let (request, root) = &resolve_request(request);
    let candidates = settings_location::list_candidates(request, root);
    let mut layers: Vec<SettingsLayer> =
        candidates.into_iter().map(|candidate| SettingsLayer::read(candidate, held)).collect();
    let mut loaded = LoadedSettings::default();
    let servers = mcp_server_files::read_mcp_servers(request, root, &mut loaded.problems);
    loaded.trust = evaluate_trust(request, root, &layers, &servers, &mut loaded.problems);
    merge_permissions(request, &mut layers, &mut loaded);
    merge_values(request, &layers, &mut loaded);
    let may_run = |one: &SourcedValue<_>| loaded.trust.is_given() || !is_from_project(one.source);
    let disabled = loaded.settings.mcp.disabled_mcpjson_servers.clone().unwrap_or_default();
    // Whoever names some of a project's servers does not want the others.
    let enabled = loaded.settings.mcp.enabled_mcpjson_servers.clone();
    let enabled =
        enabled.filter(|_| loaded.settings.mcp.enable_all_project_mcp_servers != Some(true));
    for mut one in servers.into_iter().filter(may_run) {
        if one.source == SettingsSource::Project {
            one.value.retain(|name, _| {
                let is_named = enabled.as_ref().is_none_or(|enabled| enabled.contains(name));
                is_named && !disabled.contains(name)
            });
        }
        loaded.mcp_servers.push(one);
    }
    for layer in layers {
        loaded.files.push(SettingsFileRead {
            source: layer.source,
            name: layer.name,
            state: layer.state,
            stamp: layer.stamp,
            text: Some(layer.text).filter(|_| layer.state == SettingsFileState::Read),
            keys: layer.settings.into_iter().map(|(key, _)| key).collect(),
        });
        loaded.problems.extend(layer.problems);
    }
    loaded
}

/// The project's files are somebody else's; those of `~/.claude.json` for a project are not.
fn is_from_project(source: SettingsSource) -> bool {
    source == SettingsSource::Project
}

/// What the project wants, and whether the user said yes to it.
fn evaluate_trust(
    request: &SettingsRequest,
    root: &Path,
    layers: &[SettingsLayer],
    servers: &[SourcedValue<Map<String, Value>>],
    problems: &mut Vec<SettingsProblem>,
) -> ProjectTrust {
    let mut items = Vec::new();
    if !request.only_restricts {
        for layer in layers.iter().filter(|layer| is_project_or_local(layer.source)) {
            let held = split_by_trust(&layer.settings, is_strict_user_mode(layers)).1.into_iter();
            let (source, name) = (layer.source, &layer.name);
            items.extend(held.map(|(key, value)| TrustItem {
                source,
                name: name.clone(),
                key,
                value,
            }));
        }
        for one in servers.iter().filter(|one| is_from_project(one.source) && !one.value.is_empty())
        {
            items.push(TrustItem {
                source: one.source,
                name: one.name.clone(),
                key: "mcpServers".to_owned(),
                value: Value::Object(one.value.clone()),
            });
        }
    }
    if !request.only_restricts && request.sources.project {
        items.extend(find_prompt_files(root, &request.cwd));
    }
    items.extend(find_scripts(&items, root, &request.cwd));
    let mut trust = ProjectTrust::new(root.to_owned(), items);
    if trust.items.is_empty() {
        return trust;
    }
    trust.state = TrustState::Never;
    if request.is_trusted {
        trust.state = TrustState::GivenOnce;
    } else if let Some(state) = &request.locations.state
        && let Err(error) = TrustStore::new(state).evaluate(&mut trust)
    {
        problems.push(SettingsProblem {
            source: None,
            name: "trust".to_owned(),
            position: None,
            what: error.to_string(),
            severity: ProblemSeverity::Entry,
        });
    }
    trust
}

/// Does the user start in a mode that any other would loosen?
fn is_strict_user_mode(layers: &[SettingsLayer]) -> bool {
    let mode = |layer: &SettingsLayer| {
        let mode = layer.settings.get("permissions")?.get("defaultMode")?;
        Some(mode == "plan" || mode == "dontAsk")
    };
    let own = layers.iter().filter(|layer| layer.source == SettingsSource::User);
    own.filter_map(mode).next_back().unwrap_or(false)
}

/// Anybody may have written what the user's or the administrator's file says.
fn is_world_writable_layer(layer: &SettingsLayer) -> bool {
    layer.is_world_writable
        && matches!(layer.source, SettingsSource::User | SettingsSource::Managed)
}

fn is_project_or_local(source: SettingsSource) -> bool {
    matches!(source, SettingsSource::Project | SettingsSource::Local)
}

/// The rules of all layers, with where each stands.
fn merge_permissions(
    request: &SettingsRequest,
    layers: &mut [SettingsLayer],
    loaded: &mut LoadedSettings,
) {
    let home = request.locations.home.as_ref().and_then(|home| home.to_str());
    let only_managed = layers.iter().any(|layer| {
        layer.source == SettingsSource::Managed
            && layer.settings.get("allowManagedPermissionRulesOnly") == Some(&Value::Bool(true))
    });
    let may_grant = |source: SettingsSource| match source {
        SettingsSource::Managed => true,
        SettingsSource::Flag => !only_managed,
        SettingsSource::User => !only_managed && !request.only_restricts,
        SettingsSource::Project | SettingsSource::Local => {
            let is_trusted = [TrustState::Given, TrustState::GivenOnce].contains(&loaded.trust.state);
            !only_managed && !request.only_restricts && is_trusted
        }
    };
    let present = |layer: &SettingsLayer| layer.state != SettingsFileState::Absent;
    let all: Vec<PermissionLayer<'_>> = layers
        .iter()
        .filter(|layer| present(layer))
        .map(|layer| {
            to_permission_layer(layer, may_grant(layer.source) && !is_world_writable_layer(layer))
        })
        .collect();
    let merged = permission_layer::merge_permission_layers(&all, home);
    let mut told = Vec::new();
    for (layer, alone) in layers.iter().filter(|layer| present(layer)).zip(&all) {
        let alone = permission_layer::merge_permission_layers(std::slice::from_ref(alone), home);
        for (list, key, rules) in [
            (LoadedRuleList::Deny, "deny", &alone.rules.deny),
            (LoadedRuleList::Ask, "ask", &alone.rules.ask),
            (LoadedRuleList::Allow, "allow", &alone.rules.allow),
        ] {
            // Rules that stand for broken ones come before those that were written.
            let lines = layer.find_rule_lines(key);
            let made = rules.len().saturating_sub(lines.len());
            for (index, rule) in rules.iter().enumerate() {
                let line = index.checked_sub(made).and_then(|index| lines.get(index));
                let line = line.map(|line| format!(":{line}")).unwrap_or_default();
                let place = format!("{}{line}", layer.name);
                loaded.rule_origins.push((list, rule.clone(), place));
            }
        }
        if layer.source == SettingsSource::Managed {
            loaded.managed.deny.extend(alone.rules.deny.iter().cloned());
            loaded.managed.ask.extend(alone.rules.ask.iter().cloned());
        }
        let directories = alone.directories.iter().map(|path| SourcedValue {
            source: layer.source,
            name: layer.name.clone(),
            value: resolve_directory(path, &request.cwd, home),
        });
        loaded.directories.extend(directories);
        told.push((layer.name.clone(), layer.source, alone.problems));
    }
    for (name, source, problems) in told {
        let layer = layers.iter_mut().find(|one| one.name == name && one.source == source);
        let Some(layer) = layer.filter(|layer| layer.state == SettingsFileState::Read) else {
            continue;
        };
        for problem in problems {
            let severity = match problem.kind {
                permission_layer::PermissionProblemKind::Untrusted => continue,
                permission_layer::PermissionProblemKind::Everything => ProblemSeverity::File,
                permission_layer::PermissionProblemKind::Entry => ProblemSeverity::Entry,
            };
            layer.add_problem_at(&problem.pointer, problem.what, severity);
        }
    }
    (loaded.rules, loaded.mode) = (merged.rules, merged.mode);
    loaded.forbids_bypass = merged.forbids_bypass;
}

fn to_permission_layer(layer: &SettingsLayer, is_trusted: bool) -> PermissionLayer<'_> {
    PermissionLayer {
        source: layer.source,
        name: &layer.name,
        text: &layer.text,
        root: &layer.root,
        is_trusted,
    }
}

fn resolve_directory(written: &str, cwd: &Path, home: Option<&str>) -> PathBuf {
    match (written.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            PathBuf::from(format!("{home}{rest}"))
        }
        _ => cwd.join(written),
    }
}

/// Everything but rules.
fn merge_values(request: &SettingsRequest, layers: &[SettingsLayer], loaded: &mut LoadedSettings) {
    let mut taken: Vec<(&SettingsLayer, Map<String, Value>)> = Vec::new();
    for layer in layers {
        let is_open = matches!(layer.source, SettingsSource::Flag | SettingsSource::Managed);
        if (request.only_restricts && !is_open) || is_world_writable_layer(layer) {
            continue;
        }
        let mut settings = match loaded.trust.is_given() || !is_project_or_local(layer.source) {
            true => layer.settings.clone(),
            false => split_by_trust(&layer.settings, false).0,
        };
        settings.remove("permissions");
        if is_project_or_local(layer.source) {
            // Whoever wrote the project does not say when the user's sessions are deleted.
            settings.remove("cleanupPeriodDays");
            // What nothing comes of is in no digest, so it is not handed on either.
            settings.retain(|key, value| {
                settings_key::is_used(key) || settings_key::is_harmless(key, value)
            });
        }
        if layer.source != SettingsSource::Managed {
            MANAGED_ONLY.iter().for_each(|key| drop(settings.remove(*key)));
        }
        taken.push((layer, settings));
    }
    extract_hooks(&mut taken, loaded);
    let maps: Vec<(SettingsSource, &Map<String, Value>)> =
        taken.iter().map(|(layer, settings)| (layer.source, settings)).collect();
    let (merged, origins) = merge_layers::merge_layers(&maps);
    // Each layer fits the types, and so do they together.
    loaded.settings =
        serde_json::from_value::<SettingsFile>(Value::Object(merged)).unwrap_or_default();
    for (pointer, numbers) in origins {
        let names = numbers.into_iter().filter_map(|number| taken.get(number));
        let names = names.map(|(layer, _)| layer.name.clone()).collect();
        loaded.origins.insert(to_dotted_key(&pointer), names);
    }
}

/// Takes the hooks out of the layers. Nobody but the administrator switches the administrator's off.
fn extract_hooks(taken: &mut [(&SettingsLayer, Map<String, Value>)], loaded: &mut LoadedSettings) {
    let says = |key: &str, layer: &(&SettingsLayer, Map<String, Value>)| {
        layer.1.get(key) == Some(&Value::Bool(true))
    };
    let is_managed =
        |layer: &&(&SettingsLayer, Map<String, Value>)| layer.0.source == SettingsSource::Managed;
    let none = taken.iter().filter(is_managed).any(|layer| says("disableAllHooks", layer));
    let only_managed = taken.iter().any(|layer| says("disableAllHooks", layer))
        || taken.iter().filter(is_managed).any(|layer| says("allowManagedHooksOnly", layer));
    for (layer, settings) in taken {
        let Some(Value::Object(hooks)) = settings.remove("hooks") else { continue };
        if none || (only_managed && layer.source != SettingsSource::Managed) {
            continue;
        }
        let (source, name) = (layer.source, layer.name.clone());
        loaded.hooks.push(SourcedValue { source, name, value: hooks });
    }
}

const MANAGED_ONLY: &[&str] = &["allowManagedHooksOnly", "allowManagedPermissionRulesOnly"];
