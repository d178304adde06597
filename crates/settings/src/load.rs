//! The door: reads every layer, holds back what the user has not trusted, and puts the rest together.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use windlass_permission::layer::{self, Layer, Source};

use crate::key;
use crate::layered::Layered;
use crate::loaded::{FileRead, List, Loaded, Sourced, State};
use crate::merge;
use crate::place::{self, Candidate, Request};
use crate::problem::{Problem, Severity};
use crate::prune::dotted;
use crate::server;
use crate::settings::Settings;
use crate::trust::{Trust, TrustState, TrustStore, Withheld, pages, scripts, sift};
use crate::watch::Held;

/// Reads the settings in force.
#[must_use]
pub fn load(request: &Request) -> Loaded {
    load_held(request, &Held::new())
}

/// Everything that may hold settings.
pub(crate) fn candidates(request: &Request) -> Vec<Candidate> {
    let (request, root) = placed(request);
    place::candidates(&request, &root)
}

/// The request with the real path of where we are, and the root of the project.
fn placed(request: &Request) -> (Request, PathBuf) {
    let cwd = request.cwd.canonicalize().unwrap_or_else(|_| request.cwd.clone());
    let root = place::project(&cwd);
    (Request { cwd, ..request.clone() }, root)
}

/// The same, where some files are taken to say something else than what is in them.
pub(crate) fn load_held(request: &Request, held: &Held) -> Loaded {
    let (request, root) = &placed(request);
    let candidates = place::candidates(request, root);
    let mut layers: Vec<Layered> =
        candidates.into_iter().map(|candidate| Layered::read(candidate, held)).collect();
    let mut loaded = Loaded::default();
    let servers = server::read(request, root, &mut loaded.problems);
    loaded.trust = trust(request, root, &layers, &servers, &mut loaded.problems);
    permissions(request, &mut layers, &mut loaded);
    values(request, &layers, &mut loaded);
    let may_run = |one: &Sourced<_>| loaded.trust.is_given() || !is_from_project(one.source);
    let disabled = loaded.settings.disabled_mcpjson_servers.clone().unwrap_or_default();
    // Whoever names some of a project's servers does not want the others.
    let enabled = loaded.settings.enabled_mcpjson_servers.clone();
    let enabled = enabled.filter(|_| loaded.settings.enable_all_project_mcp_servers != Some(true));
    for mut one in servers.into_iter().filter(may_run) {
        if one.source == Source::Project {
            one.value.retain(|name, _| {
                let is_named = enabled.as_ref().is_none_or(|enabled| enabled.contains(name));
                is_named && !disabled.contains(name)
            });
        }
        loaded.mcp_servers.push(one);
    }
    for layer in layers {
        loaded.files.push(FileRead {
            source: layer.source,
            name: layer.name,
            state: layer.state,
            stamp: layer.stamp,
            text: Some(layer.text).filter(|_| layer.state == State::Read),
            keys: layer.settings.into_iter().map(|(key, _)| key).collect(),
        });
        loaded.problems.extend(layer.problems);
    }
    loaded
}

/// The project's files are somebody else's; those of `~/.claude.json` for a project are not.
fn is_from_project(source: Source) -> bool {
    source == Source::Project
}

/// What the project wants, and whether the user said yes to it.
fn trust(
    request: &Request,
    root: &Path,
    layers: &[Layered],
    servers: &[Sourced<Map<String, Value>>],
    problems: &mut Vec<Problem>,
) -> Trust {
    let mut items = Vec::new();
    if !request.only_restricts {
        for layer in layers.iter().filter(|layer| is_of_project(layer.source)) {
            let held = sift(&layer.settings, is_strict(layers)).1.into_iter();
            let (source, name) = (layer.source, &layer.name);
            items.extend(held.map(|(key, value)| Withheld {
                source,
                name: name.clone(),
                key,
                value,
            }));
        }
        for one in servers.iter().filter(|one| is_from_project(one.source) && !one.value.is_empty())
        {
            items.push(Withheld {
                source: one.source,
                name: one.name.clone(),
                key: "mcpServers".to_owned(),
                value: Value::Object(one.value.clone()),
            });
        }
    }
    if !request.only_restricts && request.sources.project {
        items.extend(pages(root, &request.cwd));
    }
    items.extend(scripts(&items, root, &request.cwd));
    let mut trust = Trust::new(root.to_owned(), items);
    if trust.items.is_empty() {
        return trust;
    }
    trust.state = TrustState::Never;
    if request.is_trusted {
        trust.state = TrustState::GivenOnce;
    } else if let Some(state) = &request.places.state
        && let Err(error) = TrustStore::new(state).judge(&mut trust)
    {
        problems.push(Problem {
            source: None,
            name: "trust".to_owned(),
            place: None,
            what: error.to_string(),
            severity: Severity::Entry,
        });
    }
    trust
}

/// Does the user start in a mode that any other would loosen?
fn is_strict(layers: &[Layered]) -> bool {
    let mode = |layer: &Layered| {
        let mode = layer.settings.get("permissions")?.get("defaultMode")?;
        Some(mode == "plan" || mode == "dontAsk")
    };
    let own = layers.iter().filter(|layer| layer.source == Source::User);
    own.filter_map(mode).next_back().unwrap_or(false)
}

/// Anybody may have written what the user's or the administrator's file says.
fn is_weak(layer: &Layered) -> bool {
    layer.is_everybodys && matches!(layer.source, Source::User | Source::Managed)
}

fn is_of_project(source: Source) -> bool {
    matches!(source, Source::Project | Source::Local)
}

/// The rules of all layers, with where each stands.
fn permissions(request: &Request, layers: &mut [Layered], loaded: &mut Loaded) {
    let home = request.places.home.as_ref().and_then(|home| home.to_str());
    let only_managed = layers.iter().any(|layer| {
        layer.source == Source::Managed
            && layer.settings.get("allowManagedPermissionRulesOnly") == Some(&Value::Bool(true))
    });
    let may_grant = |source: Source| match source {
        Source::Managed => true,
        _ if only_managed => false,
        Source::Flag => true,
        Source::User => !request.only_restricts,
        Source::Project | Source::Local => {
            let is_said = [TrustState::Given, TrustState::GivenOnce].contains(&loaded.trust.state);
            !request.only_restricts && is_said
        }
    };
    let present = |layer: &Layered| layer.state != State::Absent;
    let all: Vec<Layer<'_>> = layers
        .iter()
        .filter(|layer| present(layer))
        .map(|layer| as_layer(layer, may_grant(layer.source) && !is_weak(layer)))
        .collect();
    let merged = layer::merge(&all, home);
    let mut told = Vec::new();
    for (layer, alone) in layers.iter().filter(|layer| present(layer)).zip(&all) {
        let alone = layer::merge(std::slice::from_ref(alone), home);
        for (list, key, rules) in [
            (List::Deny, "deny", &alone.rules.deny),
            (List::Ask, "ask", &alone.rules.ask),
            (List::Allow, "allow", &alone.rules.allow),
        ] {
            // Rules that stand for broken ones come before those that were written.
            let lines = layer.rule_lines(key);
            let made = rules.len().saturating_sub(lines.len());
            for (index, rule) in rules.iter().enumerate() {
                let line = index.checked_sub(made).and_then(|index| lines.get(index));
                let line = line.map(|line| format!(":{line}")).unwrap_or_default();
                let place = format!("{}{line}", layer.name);
                loaded.rule_origins.push((list, rule.clone(), place));
            }
        }
        if layer.source == Source::Managed {
            loaded.managed.deny.extend(alone.rules.deny.iter().cloned());
            loaded.managed.ask.extend(alone.rules.ask.iter().cloned());
        }
        let directories = alone.directories.iter().map(|path| Sourced {
            source: layer.source,
            name: layer.name.clone(),
            value: directory(path, &request.cwd, home),
        });
        loaded.directories.extend(directories);
        told.push((layer.name.clone(), layer.source, alone.problems));
    }
    for (name, source, problems) in told {
        let layer = layers.iter_mut().find(|one| one.name == name && one.source == source);
        let Some(layer) = layer.filter(|layer| layer.state == State::Read) else { continue };
        for problem in problems {
            let severity = match problem.kind {
                layer::Kind::Untrusted => continue,
                layer::Kind::Everything => Severity::File,
                layer::Kind::Entry => Severity::Entry,
            };
            layer.problem(&problem.pointer, problem.what, severity);
        }
    }
    (loaded.rules, loaded.mode) = (merged.rules, merged.mode);
    loaded.forbids_bypass = merged.forbids_bypass;
}

fn as_layer(layer: &Layered, is_trusted: bool) -> Layer<'_> {
    Layer {
        source: layer.source,
        name: &layer.name,
        text: &layer.text,
        root: &layer.root,
        is_trusted,
    }
}

fn directory(written: &str, cwd: &Path, home: Option<&str>) -> PathBuf {
    match (written.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            PathBuf::from(format!("{home}{rest}"))
        }
        _ => cwd.join(written),
    }
}

/// Everything but rules.
fn values(request: &Request, layers: &[Layered], loaded: &mut Loaded) {
    let mut taken: Vec<(&Layered, Map<String, Value>)> = Vec::new();
    for layer in layers {
        let is_open = matches!(layer.source, Source::Flag | Source::Managed);
        if (request.only_restricts && !is_open) || is_weak(layer) {
            continue;
        }
        let mut settings = match loaded.trust.is_given() || !is_of_project(layer.source) {
            true => layer.settings.clone(),
            false => sift(&layer.settings, false).0,
        };
        settings.remove("permissions");
        if is_of_project(layer.source) {
            // Whoever wrote the project does not say when the user's sessions are deleted.
            settings.remove("cleanupPeriodDays");
            // What nothing comes of is in no digest, so it is not handed on either.
            settings.retain(|key, value| key::is_used(key) || key::is_harmless(key, value));
        }
        if layer.source != Source::Managed {
            MANAGED_ONLY.iter().for_each(|key| drop(settings.remove(*key)));
        }
        taken.push((layer, settings));
    }
    hooks(&mut taken, loaded);
    let maps: Vec<(Source, &Map<String, Value>)> =
        taken.iter().map(|(layer, settings)| (layer.source, settings)).collect();
    let (merged, origins) = merge::merge(&maps);
    // Each layer fits the types, and so do they together.
    loaded.settings = serde_json::from_value::<Settings>(Value::Object(merged)).unwrap_or_default();
    for (pointer, numbers) in origins {
        let names = numbers.into_iter().filter_map(|number| taken.get(number));
        let names = names.map(|(layer, _)| layer.name.clone()).collect();
        loaded.origins.insert(dotted(&pointer), names);
    }
}

/// Takes the hooks out of the layers. Nobody but the administrator switches the administrator's off.
fn hooks(taken: &mut [(&Layered, Map<String, Value>)], loaded: &mut Loaded) {
    let says = |key: &str, layer: &(&Layered, Map<String, Value>)| {
        layer.1.get(key) == Some(&Value::Bool(true))
    };
    let is_managed = |layer: &&(&Layered, Map<String, Value>)| layer.0.source == Source::Managed;
    let none = taken.iter().filter(is_managed).any(|layer| says("disableAllHooks", layer));
    let only_managed = taken.iter().any(|layer| says("disableAllHooks", layer))
        || taken.iter().filter(is_managed).any(|layer| says("allowManagedHooksOnly", layer));
    for (layer, settings) in taken {
        let Some(Value::Object(hooks)) = settings.remove("hooks") else { continue };
        if none || (only_managed && layer.source != Source::Managed) {
            continue;
        }
        let (source, name) = (layer.source, layer.name.clone());
        loaded.hooks.push(Sourced { source, name, value: hooks });
    }
}

const MANAGED_ONLY: &[&str] = &["allowManagedHooksOnly", "allowManagedPermissionRulesOnly"];
