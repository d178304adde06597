//! Merges the permission rules of all layers, with their origins and problems.

use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_permission::Rule;
use windlass_permission::permission_layer::{
    self, PermissionLayer, PermissionProblemKind, SettingsSource,
};

use crate::loaded_settings::{LoadedSettings, RuleOrigin, SettingsFileState, SourcedValue};
use crate::settings_layer::SettingsLayer;
use crate::settings_location::SettingsRequest;
use crate::settings_problem::ProblemSeverity;
use crate::trust::TrustState;

/// Merges the rules of all layers, and records their origins.
pub(crate) fn merge_permissions(
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
            let is_trusted =
                [TrustState::Given, TrustState::GivenOnce].contains(&loaded.trust.state);
            !only_managed && !request.only_restricts && is_trusted
        }
    };
    let present = |layer: &SettingsLayer| layer.state != SettingsFileState::Absent;
    let all: Vec<PermissionLayer<'_>> = layers
        .iter()
        .filter(|layer| present(layer))
        .map(|layer| {
            to_permission_layer(layer, may_grant(layer.source) && !layer.may_only_restrict())
        })
        .collect();
    let merged = permission_layer::merge_permission_layers(&all, home);
    let mut layer_problems = Vec::new();
    for (layer, alone) in layers.iter().filter(|layer| present(layer)).zip(&all) {
        let alone = permission_layer::merge_permission_layers(std::slice::from_ref(alone), home);
        for (key, rules) in
            [("deny", &alone.rules.deny), ("ask", &alone.rules.ask), ("allow", &alone.rules.allow)]
        {
            // Replacements for broken rules come before the written ones.
            let lines = layer.find_rule_lines(key);
            let made = rules.len().saturating_sub(lines.len());
            for (index, rule) in rules.iter().enumerate() {
                let line = index.checked_sub(made).and_then(|index| lines.get(index));
                let line = line.map(|line| format!(":{line}")).unwrap_or_default();
                let place = format!("{}{line}", layer.name);
                loaded.rule_origins.push(RuleOrigin { rule: rule.to_string(), place });
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
        layer_problems.push(alone.problems);
    }
    let read_layers = layers.iter_mut().filter(|layer| present(layer)).zip(layer_problems);
    for (layer, problems) in read_layers {
        if layer.state != SettingsFileState::Read {
            continue;
        }
        for problem in problems {
            let severity = match problem.kind {
                PermissionProblemKind::Untrusted => continue,
                PermissionProblemKind::Everything => ProblemSeverity::File,
                PermissionProblemKind::Entry => ProblemSeverity::Entry,
            };
            layer.add_problem_at(&problem.pointer, problem.what, severity);
        }
        report_denied_rules(layer, &merged.rules.deny);
    }
    loaded.rules = merged.rules;
    loaded.mode = merged.mode;
    loaded.forbids_bypass = merged.forbids_bypass;
}

/// Reports allow rules that can never apply, because a deny rule of any layer forbids all of it.
fn report_denied_rules(layer: &mut SettingsLayer, deny: &[Rule]) {
    let allow = layer.settings.get("permissions").and_then(|all| all.get("allow"));
    let allow = allow.and_then(Value::as_array).cloned().unwrap_or_default();
    for (index, rule) in allow.iter().enumerate() {
        let Some(rule) = rule.as_str().and_then(|rule| Rule::parse(rule).ok()) else { continue };
        let forbids = |other: &&Rule| {
            other.tool == rule.tool && (other.content.is_none() || other.content == rule.content)
        };
        if let Some(forbidden) = deny.iter().find(forbids) {
            let what = format!("`{rule}` never allows anything: `{forbidden}` is denied");
            let pointer = format!("/permissions/allow/{index}");
            layer.add_problem_at(&pointer, what, ProblemSeverity::Idle);
        }
    }
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
