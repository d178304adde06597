//! Requests about settings: what is in force, what is to be in force for this session, and what is to
//! be written down.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use windlass_driver::SettingsChange;
use windlass_permission::{Policy, Rule};
use windlass_settings::{SettingsFileState, SettingsSource, write_setting};
use windlass_vocabulary::PermissionMode;

use super::{ControlOutcome, answer_now, model, require_session, require_text};
use crate::event_loop::EventLoop;
use windlass_assembly::directories::working_directory;
use windlass_assembly::options::SettingsOptions;
use windlass_assembly::resolved::load_policy;
use windlass_assembly::settings;
use windlass_assembly::settings::SettingsLayers;

/// `get_settings`.
pub(super) fn get_settings(desk: &mut EventLoop) -> Result<Value, String> {
    let effort = current_effort(desk);
    let stage = require_session(desk)?;
    let loaded = &stage.layers.loaded;
    let read = loaded.files.iter().filter(|file| file.state == SettingsFileState::Read);
    let sources: Vec<Value> = read
        .map(|file| {
            let written = std::fs::read_to_string(&file.name).ok();
            let written = written.and_then(|text| serde_json::from_str::<Value>(&text).ok());
            json!({ "source": source_name(file.source), "path": file.name, "settings": written })
        })
        .collect();
    Ok(json!({
        "effective": serde_json::to_value(&loaded.settings).unwrap_or_default(),
        "sources": sources,
        "applied": { "model": stage.model, "effort": effort },
        "errors": settings_errors_to_json(&stage.layers),
    }))
}

fn current_effort(desk: &EventLoop) -> Option<Value> {
    let layers = &desk.live_session.as_ref()?.layers;
    let args = layers.merge_model_options(&desk.args.model, &|name: &str| std::env::var_os(name));
    serde_json::to_value(args.effort?).ok()
}

/// What is wrong with files.
fn settings_errors_to_json(layers: &SettingsLayers) -> Vec<Value> {
    let problems = layers.loaded.problems.iter();
    problems.map(|one| json!({ "path": one.name, "message": one.to_string() })).collect()
}

/// `apply_flag_settings`: as if they had been given with --settings. What depends on them from now on
/// is changed: rules, the mode, the model, the effort; the rest counts for what begins later.
pub(super) fn apply_flag_settings(
    desk: &mut EventLoop,
    request: &Value,
) -> Result<ControlOutcome, String> {
    let Some(Value::Object(more)) = request.get("settings") else {
        return Err("the request has no object `settings`".to_owned());
    };
    let before = desk.args.settings.clone();
    let mut given = read_flag_settings(&before)?;
    merge_settings(&mut given, more);
    let after =
        SettingsOptions { settings: Some(Value::Object(given).to_string()), ..before.clone() };
    let environment = |name: &str| std::env::var_os(name);
    let read = |args: &SettingsOptions| {
        load_policy(&desk.args.permission, args, &environment)
            .map_err(|refusal| refusal.to_string())
    };
    let ((old, _), (new, layers)) = (read(&before)?, read(&after)?);
    let model_args = layers.merge_model_options(&desk.args.model, &environment);
    let (effort, thinking) = (model_args.effort, model_args.thinking);
    let wanted = layers.loaded.settings.model.clone().filter(|_| more.contains_key("model"));
    let stage = require_session(desk)?;
    let is_mode_new = new.mode != old.mode;
    stage.layers = layers.clone();
    stage.mode = if is_mode_new { new.mode } else { stage.mode };
    stage.set_output_style(layers.output_style());
    let policy = SettingsChange::policy(move |policy| {
        let mode_before = policy.mode;
        replace_policy_rules(policy, &old, &new);
        layers.enforce_managed_rules(policy, mode_before);
    });
    let changes = [policy, SettingsChange::Effort(effort)];
    let thinking = thinking.map(SettingsChange::Thinking);
    let changed = stage.session.configure(changes.into_iter().chain(thinking));
    changed.map_err(|error| error.to_string())?;
    let mode = stage.mode;
    desk.args.settings = after;
    if is_mode_new {
        desk.send_permission_mode(mode.name());
    }
    match wanted {
        Some(wanted) => model::choose_model(desk, Some(&wanted)),
        None if more.get("model") == Some(&Value::Null) => model::choose_model(desk, None),
        None => answer_now(Ok(json!({}))),
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

/// Takes what the old settings said out of a policy, and puts in what the new ones say.
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

/// `update_settings`: written down for later sessions; this one goes on as it is.
pub(super) fn update_settings(desk: &EventLoop, request: &Value) -> Result<Value, String> {
    let (source, key) = match require_text(request, "source")? {
        "localSettings" => (SettingsSource::Local, "outputStyle"),
        "userSettings" => (SettingsSource::User, "effortLevel"),
        other => return Err(format!("settings of `{other}` are not written here")),
    };
    let Some(Value::Object(settings)) = request.get("settings") else {
        return Err("the request has no object `settings`".to_owned());
    };
    if let Some(other) = settings.keys().find(|other| *other != key) {
        return Err(format!("`{other}` is not written there; only `{key}` is"));
    }
    let path = settings_file_path(desk, source)?;
    for value in settings.values() {
        if !value.is_string() {
            return Err(format!("`{key}` is no text"));
        }
        write_setting(&path, &[key], |_| Some(value.clone())).map_err(|error| error.to_string())?;
    }
    Ok(json!({}))
}

/// Which settings there are here.
pub(crate) fn build_settings_request(
    desk: &EventLoop,
) -> Result<windlass_settings::SettingsRequest, String> {
    let cwd = working_directory().map_err(|refusal| refusal.to_string())?;
    let environment = |name: &str| std::env::var_os(name);
    settings::build_load_request(&desk.args.settings, &cwd, &environment)
        .map_err(|refusal| refusal.to_string())
}

/// Where settings of a layer are written.
pub(crate) fn settings_file_path(
    desk: &EventLoop,
    source: SettingsSource,
) -> Result<PathBuf, String> {
    let request = build_settings_request(desk)?;
    let sources = request.sources;
    let root = windlass_settings::load_settings(&request).trust.root;
    match source {
        SettingsSource::User if sources.user => {
            let folder = request.locations.user.first().ok_or("the user has no home here")?;
            Ok(folder.join("settings.json"))
        }
        SettingsSource::Project if sources.project => Ok(root.join(".claude/settings.json")),
        SettingsSource::Local if sources.local => Ok(root.join(".claude/settings.local.json")),
        _ => {
            Err(format!("{} are not read in this session (--setting-sources)", source_name(source)))
        }
    }
}

/// `list_permission_rules`.
pub(super) async fn list_permission_rules(desk: &mut EventLoop) -> Result<Value, String> {
    let flags = desk.args.permission.allowed_tools.join(" ");
    let flags = format!("{flags} {}", desk.args.permission.disallowed_tools.join(" "));
    let stage = require_session(desk)?;
    let settings = stage.session.settings().await.ok_or(super::SESSION_OVER)?;
    let loaded = &stage.layers.loaded;
    let policy = &settings.policy;
    let source = |rule: &Rule| {
        let text = rule.to_string();
        let origin = loaded.rule_origin(&text);
        let is_it = |name: &str| origin.is_some_and(|origin| origin.starts_with(name));
        let file = loaded.files.iter().find(|file| is_it(&file.name));
        match file {
            Some(file) => source_name(file.source),
            None if flags.contains(&text) => "cliArg",
            None => "session",
        }
    };
    let row = |behavior: &'static str| {
        move |rule: &Rule| {
            let source = source(rule);
            let editability = match source {
                "policySettings" | "cliArg" => "readonly",
                "session" => "session",
                _ => "persistent",
            };
            json!({
                "behavior": behavior, "source": source, "rule": rule.to_string(),
                "editability": editability,
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
        "managedOnly": false, "errors": settings_errors_to_json(&stage.layers),
        "mode": PermissionMode::name(policy.mode),
    } }))
}

/// The word clients have for a layer.
pub(crate) fn source_name(source: SettingsSource) -> &'static str {
    match source {
        SettingsSource::User => "userSettings",
        SettingsSource::Project => "projectSettings",
        SettingsSource::Local => "localSettings",
        SettingsSource::Flag => "flagSettings",
        SettingsSource::Managed => "policySettings",
    }
}
