//! Control requests about settings: reads them, changes them for this session, saves them.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use windlass_driver::SettingsChange;
use windlass_host::environment::process_environment;
use windlass_permission::{Policy, Rule};
use windlass_settings::{SettingsFileState, SettingsSource, write_setting};
use windlass_vocabulary::PermissionMode;

use super::request::SettingsUpdate;
use super::{ControlOutcome, model, require_session};
use crate::event_loop::EventLoop;
use windlass_assembly::directories::working_directory;
use windlass_assembly::options::SettingsOptions;
use windlass_assembly::resolved::load_policy;
use windlass_assembly::settings;
use windlass_assembly::settings::{SettingsLayers, settings_source_name};

pub(super) fn get_settings(event_loop: &mut EventLoop) -> Result<Value, String> {
    let effort = current_effort(event_loop);
    let live = require_session(event_loop)?;
    let loaded = &live.settings.layers.loaded;
    let read = loaded.files.iter().filter(|file| file.state == SettingsFileState::Read);
    let sources: Vec<Value> = read
        .map(|file| {
            let written = std::fs::read_to_string(&file.name).ok();
            let written = written.and_then(|text| serde_json::from_str::<Value>(&text).ok());
            json!({ "source": settings_source_name(file.source), "path": file.name, "settings": written })
        })
        .collect();
    Ok(json!({
        "effective": serde_json::to_value(&loaded.settings).unwrap_or_default(),
        "sources": sources,
        "applied": { "model": live.provider.model, "effort": effort },
        "errors": settings_errors_to_json(&live.settings.layers),
    }))
}

fn current_effort(event_loop: &EventLoop) -> Option<Value> {
    let layers = &event_loop.session.live()?.settings.layers;
    let args = layers.merge_model_options(&event_loop.args.model, &process_environment);
    serde_json::to_value(args.effort?).ok()
}

fn settings_errors_to_json(layers: &SettingsLayers) -> Vec<Value> {
    let problems = layers.loaded.problems.iter();
    problems.map(|one| json!({ "path": one.name, "message": one.to_string() })).collect()
}

/// `apply_flag_settings`: as if they had been given with --settings. What depends on them from now on
/// is changed: rules, the mode, the model, the effort; the rest counts for what begins later.
pub(super) fn apply_flag_settings(
    event_loop: &mut EventLoop,
    more: &Map<String, Value>,
) -> Result<ControlOutcome, String> {
    let before = event_loop.args.settings.clone();
    let mut given = read_flag_settings(&before)?;
    merge_settings(&mut given, more);
    let after =
        SettingsOptions { settings: Some(Value::Object(given).to_string()), ..before.clone() };
    let environment = process_environment;
    let read = |args: &SettingsOptions| {
        load_policy(&event_loop.args.permission, args, &environment)
            .map_err(|refusal| refusal.to_string())
    };
    let (old, _) = read(&before)?;
    let (new, layers) = read(&after)?;
    let model_args = layers.merge_model_options(&event_loop.args.model, &environment);
    let effort = model_args.effort;
    let thinking = model_args.thinking;
    let wanted = layers.loaded.settings.models.model.clone().filter(|_| more.contains_key("model"));
    let live = require_session(event_loop)?;
    let is_mode_new = new.mode != old.mode;
    live.settings.layers = layers.clone();
    live.mode = if is_mode_new { new.mode } else { live.mode };
    live.set_output_style(layers.output_style());
    let policy = SettingsChange::policy(move |policy| {
        let mode_before = policy.mode;
        replace_policy_rules(policy, &old, &new);
        layers.enforce_managed_rules(policy, mode_before);
    });
    let changes = [policy, SettingsChange::Effort(effort)];
    let thinking = thinking.map(SettingsChange::Thinking);
    let changed = live.session.configure(changes.into_iter().chain(thinking));
    changed.map_err(|error| error.to_string())?;
    let mode = live.mode;
    event_loop.args.settings = after;
    if is_mode_new {
        event_loop.send_permission_mode(mode.name());
    }
    match wanted {
        Some(wanted) => model::choose_model(event_loop, Some(&wanted)),
        None if more.get("model") == Some(&Value::Null) => model::choose_model(event_loop, None),
        None => Ok(ControlOutcome::Now(Ok(json!({})))),
    }
}

/// The settings of the command line as an object.
fn read_flag_settings(args: &SettingsOptions) -> Result<Map<String, Value>, String> {
    let text = match args.settings.as_deref().filter(|text| !text.is_empty()) {
        None => return Ok(Map::new()),
        Some(text) if text.trim_start().starts_with('{') => text.to_owned(),
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| format!("{path} of --settings cannot be read any more: {error}"))?,
    };
    serde_json::from_str(&text).map_err(|error| format!("--settings: {error}"))
}

/// Objects are merged; null takes a key away.
fn merge_settings(into: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (key, value) in more {
        match (into.get_mut(key), value) {
            (_, Value::Null) => drop(into.remove(key)),
            (Some(Value::Object(old)), Value::Object(new)) => merge_settings(old, new),
            _ => drop(into.insert(key.clone(), value.clone())),
        }
    }
}

/// Removes the rules of the old settings from a policy, and adds those of the new ones.
fn replace_policy_rules(policy: &mut Policy, old: &Policy, new: &Policy) {
    let lists = |policy: &Policy| {
        [policy.rules.allow.clone(), policy.rules.ask.clone(), policy.rules.deny.clone()]
    };
    let rules = &mut policy.rules;
    let all = [&mut rules.allow, &mut rules.ask, &mut rules.deny];
    for ((list, old), new) in all.into_iter().zip(lists(old)).zip(lists(new)) {
        list.retain(|rule| !old.contains(rule) || new.contains(rule));
        let fresh: Vec<Rule> = new.into_iter().filter(|rule| !list.contains(rule)).collect();
        list.extend(fresh);
    }
    if new.mode != old.mode {
        policy.mode = new.mode;
    }
}

/// `update_settings`: saves settings for later sessions; this one does not change.
pub(super) fn update_settings(
    event_loop: &EventLoop,
    update: &SettingsUpdate,
) -> Result<Value, String> {
    let SettingsUpdate { source, key, values } = update;
    let path = settings_file_path(event_loop, *source)?;
    for value in values {
        if !value.is_string() {
            return Err(format!("`{key}` is not text"));
        }
        write_setting(&path, &[*key], |_| Some(value.clone()))
            .map_err(|error| error.to_string())?;
    }
    Ok(json!({}))
}

pub(crate) fn build_settings_request(
    event_loop: &EventLoop,
) -> Result<windlass_settings::SettingsRequest, String> {
    let cwd = working_directory().map_err(|refusal| refusal.to_string())?;
    let environment = process_environment;
    settings::build_load_request(&event_loop.args.settings, &cwd, &environment)
        .map_err(|refusal| refusal.to_string())
}

pub(crate) fn settings_file_path(
    event_loop: &EventLoop,
    source: SettingsSource,
) -> Result<PathBuf, String> {
    let request = build_settings_request(event_loop)?;
    let sources = request.sources;
    let root = windlass_settings::load_settings(&request).trust.root;
    match source {
        SettingsSource::User if sources.user => {
            let folder = request.locations.user.first().ok_or("the user has no home here")?;
            Ok(folder.join("settings.json"))
        }
        SettingsSource::Project if sources.project => Ok(root.join(".claude/settings.json")),
        SettingsSource::Local if sources.local => Ok(root.join(".claude/settings.local.json")),
        SettingsSource::User
        | SettingsSource::Project
        | SettingsSource::Local
        | SettingsSource::Flag
        | SettingsSource::Managed => Err(format!(
            "{} are not read in this session (--setting-sources)",
            settings_source_name(source)
        )),
    }
}

pub(super) async fn list_permission_rules(event_loop: &mut EventLoop) -> Result<Value, String> {
    let flags = event_loop.args.permission.allowed_tools.join(" ");
    let flags = format!("{flags} {}", event_loop.args.permission.disallowed_tools.join(" "));
    let live = require_session(event_loop)?;
    let settings = live.session.settings().await.ok_or(crate::session_phase::SESSION_OVER)?;
    let loaded = &live.settings.layers.loaded;
    let policy = &settings.policy;
    let source = |rule: &Rule| {
        let text = rule.to_string();
        let origin = loaded.rule_origin(&text);
        let is_it = |name: &str| origin.is_some_and(|origin| origin.starts_with(name));
        let file = loaded.files.iter().find(|file| is_it(&file.name));
        match file {
            Some(file) => RuleSource::Settings(file.source),
            None if flags.contains(&text) => RuleSource::CommandLine,
            None => RuleSource::Session,
        }
    };
    let row = |behavior: &'static str| {
        move |rule: &Rule| {
            let source = source(rule);
            json!({
                "behavior": behavior, "source": source.name(), "rule": rule.to_string(),
                "editability": source.editability(),
            })
        }
    };
    let mut rules: Vec<Value> = policy.rules.deny.iter().map(row("deny")).collect();
    rules.extend(policy.rules.ask.iter().map(row("ask")));
    rules.extend(policy.rules.allow.iter().map(row("allow")));
    let directories: Vec<Value> = policy
        .directories
        .iter()
        .map(|path| json!({ "path": path, "source": "session" }))
        .collect();
    let cwd = policy.directories.first().cloned().unwrap_or_default();
    Ok(json!({ "state": {
        "rules": rules, "workspaceDirectories": directories, "originalCwd": cwd,
        "managedOnly": false, "errors": settings_errors_to_json(&live.settings.layers),
        "mode": PermissionMode::name(policy.mode),
    } }))
}

#[derive(Clone, Copy)]
enum RuleSource {
    Settings(SettingsSource),
    CommandLine,
    Session,
}

impl RuleSource {
    fn name(self) -> &'static str {
        match self {
            Self::Settings(source) => settings_source_name(source),
            Self::CommandLine => "cliArg",
            Self::Session => "session",
        }
    }

    fn editability(self) -> &'static str {
        match self {
            Self::Settings(SettingsSource::Managed) | Self::CommandLine => "readonly",
            Self::Settings(_) => "persistent",
            Self::Session => "session",
        }
    }
}
