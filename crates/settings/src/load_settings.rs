//! Reads every layer, withholds what the user has not trusted, and merges the rest.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use windlass_permission::permission_layer::SettingsSource;

use crate::file_stamp::FileOverrides;
use crate::loaded_settings::{LoadedSettings, SettingsFileRead, SettingsFileState, SourcedValue};
use crate::mcp_server_files;
use crate::mcp_server_policy::McpServerPolicy;
use crate::merge_permissions::merge_permissions;
use crate::merge_values::merge_values;
use crate::settings_layer::SettingsLayer;
use crate::settings_location::{self, SettingsCandidate, SettingsRequest};
use crate::settings_problem::{ProblemSeverity, SettingsProblem};
use crate::trust::{
    ProjectTrust, TrustItem, TrustState, TrustStore, find_endpoints, find_prompt_files,
    find_scripts, split_by_trust,
};

#[must_use]
pub fn load_settings(request: &SettingsRequest) -> LoadedSettings {
    load_with_overrides(request, &FileOverrides::new())
}

pub(crate) fn find_candidates(request: &SettingsRequest) -> Vec<SettingsCandidate> {
    let (request, root) = resolve_request(request);
    settings_location::list_candidates(&request, &root)
}

/// Resolves the working directory, and finds the root of the project.
fn resolve_request(request: &SettingsRequest) -> (SettingsRequest, PathBuf) {
    let cwd = request.cwd.canonicalize().unwrap_or_else(|_| request.cwd.clone());
    let root = settings_location::find_project_root(&cwd);
    (SettingsRequest { cwd, ..request.clone() }, root)
}

/// The same, with some files replaced by given texts.
pub(crate) fn load_with_overrides(
    request: &SettingsRequest,
    overrides: &FileOverrides,
) -> LoadedSettings {
    let (request, root) = &resolve_request(request);
    let candidates = settings_location::list_candidates(request, root);
    let mut layers: Vec<SettingsLayer> =
        candidates.into_iter().map(|candidate| SettingsLayer::read(candidate, overrides)).collect();
    let mut loaded = LoadedSettings::default();
    let servers = mcp_server_files::read_mcp_servers(request, root, &mut loaded.problems);
    loaded.trust = evaluate_trust(request, root, &layers, &servers, &mut loaded.problems);
    merge_permissions(request, &mut layers, &mut loaded);
    merge_values(request, &layers, &mut loaded);
    loaded.mcp_servers.policy = McpServerPolicy::from_layers(&layers);
    let may_run = |one: &SourcedValue<_>| loaded.trust.is_given() || !is_from_project(one.source);
    let disabled = loaded.settings.mcp.disabled_mcpjson_servers.clone().unwrap_or_default();
    // A list of enabled servers disables all others of the project.
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
        loaded.mcp_servers.layers.push(one);
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

/// The project's files come from its authors; entries for a project in `~/.claude.json` from the
/// user.
fn is_from_project(source: SettingsSource) -> bool {
    source == SettingsSource::Project
}

/// What the project requests, and whether the user trusts it.
fn evaluate_trust(
    request: &SettingsRequest,
    root: &Path,
    layers: &[SettingsLayer],
    servers: &[SourcedValue<Map<String, Value>>],
    problems: &mut Vec<SettingsProblem>,
) -> ProjectTrust {
    let mut items = Vec::new();
    if !request.only_restricts {
        for layer in layers.iter().filter(|layer| layer.is_project_or_local()) {
            let withheld = split_by_trust(&layer.settings, is_strict_user_mode(layers)).1;
            items.extend(withheld.into_iter().map(|(key, value)| TrustItem {
                source: layer.source,
                name: layer.name.clone(),
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
    let project = layers.iter().filter(|layer| layer.is_project_or_local());
    trust.endpoints =
        project.flat_map(|layer| find_endpoints(&layer.name, &layer.settings)).collect();
    if let Some(state) = &request.locations.state {
        // An unreadable trust record is reported below; until then no host is accepted.
        let _ = TrustStore::new(state).evaluate_endpoints(&mut trust);
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
            until_fixed: None,
            severity: ProblemSeverity::Entry,
        });
    }
    trust
}

/// Is the user's mode so strict that any other would be looser?
fn is_strict_user_mode(layers: &[SettingsLayer]) -> bool {
    let mode = |layer: &SettingsLayer| {
        let mode = layer.settings.get("permissions")?.get("defaultMode")?;
        Some(mode == "plan" || mode == "dontAsk")
    };
    let own = layers.iter().filter(|layer| layer.source == SettingsSource::User);
    own.filter_map(mode).next_back().unwrap_or(false)
}
