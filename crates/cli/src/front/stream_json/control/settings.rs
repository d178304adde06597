//! Requests about settings: what is in force, what is to be in force for this session, and what is to
//! be written down.

use std::path::PathBuf;

use serde_json::{Map, Value, json};
use windlass_permission::{Policy, Rule};
use windlass_settings::{Source, State, keep_setting};
use windlass_vocabulary::Mode;

use super::{Served, model, now, opened, text};
use crate::args::SettingsArgs;
use crate::compose::{policy_here, working_directory};
use crate::front::stream_json::desk::Desk;
use crate::layers::{self, Layers};
use crate::settings::effort;

/// `get_settings`.
pub(super) fn show(desk: &mut Desk) -> Result<Value, String> {
    let effort = effort_now(desk);
    let stage = opened(desk)?;
    let loaded = &stage.layers.loaded;
    let read = loaded.files.iter().filter(|file| file.state == State::Read);
    let sources: Vec<Value> = read
        .map(|file| {
            let written = std::fs::read_to_string(&file.name).ok();
            let written = written.and_then(|text| serde_json::from_str::<Value>(&text).ok());
            json!({ "source": name(file.source), "path": file.name, "settings": written })
        })
        .collect();
    Ok(json!({
        "effective": serde_json::to_value(&loaded.settings).unwrap_or_default(),
        "sources": sources,
        "applied": { "model": stage.model, "effort": effort },
        "errors": errors(&stage.layers),
    }))
}

fn effort_now(desk: &Desk) -> Option<Value> {
    let layers = &desk.stage.as_ref()?.layers;
    let args = layers.model_args(&desk.args.model, &|name: &str| std::env::var_os(name));
    serde_json::to_value(effort(&args)?).ok()
}

/// What is wrong with files.
fn errors(layers: &Layers) -> Vec<Value> {
    let problems = layers.loaded.problems.iter();
    problems.map(|one| json!({ "path": one.name, "message": one.to_string() })).collect()
}

/// `apply_flag_settings`: as if they had been given with --settings. What depends on them from now on
/// is changed: rules, the mode, the model, the effort; the rest counts for what begins later.
pub(super) fn apply(desk: &mut Desk, request: &Value) -> Result<Served, String> {
    let Some(Value::Object(more)) = request.get("settings") else {
        return Err("the request has no object `settings`".to_owned());
    };
    let before = desk.args.settings.clone();
    let mut given = given(&before)?;
    merge(&mut given, more);
    let after = SettingsArgs { settings: Some(Value::Object(given).to_string()), ..before.clone() };
    let environment = |name: &str| std::env::var_os(name);
    let read = |args: &SettingsArgs| {
        policy_here(&desk.args.permission, args, &environment)
            .map_err(|refusal| refusal.to_string())
    };
    let ((old, _), (new, layers)) = (read(&before)?, read(&after)?);
    let model_args = layers.model_args(&desk.args.model, &environment);
    let (effort, thinking) = (effort(&model_args), crate::settings::thinking(&model_args));
    let wanted = layers.loaded.settings.model.clone().filter(|_| more.contains_key("model"));
    let stage = opened(desk)?;
    let is_mode_new = new.mode != old.mode;
    stage.layers = layers.clone();
    stage.mode = if is_mode_new { new.mode } else { stage.mode };
    stage.output_style_is(layers.output_style());
    let changed = stage.session.configure(move |settings| {
        let mode_before = settings.policy.mode;
        exchange(&mut settings.policy, &old, &new);
        layers.hold(&mut settings.policy, mode_before);
        settings.effort = effort;
        settings.thinking = thinking.unwrap_or(settings.thinking);
    });
    changed.map_err(|error| error.to_string())?;
    let mode = stage.mode;
    desk.args.settings = after;
    if is_mode_new {
        desk.tell_mode(mode.name());
    }
    match wanted {
        Some(wanted) => model::choose(desk, Some(&wanted)),
        None if more.get("model") == Some(&Value::Null) => model::choose(desk, None),
        None => now(Ok(json!({}))),
    }
}

/// The settings of the command line as an object.
fn given(args: &SettingsArgs) -> Result<Map<String, Value>, String> {
    let text = match args.settings.as_deref().filter(|text| !text.is_empty()) {
        None => return Ok(Map::new()),
        Some(text) if text.trim_start().starts_with('{') => text.to_owned(),
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| format!("{path} of --settings cannot be read any more: {error}"))?,
    };
    serde_json::from_str(&text).map_err(|error| format!("--settings: {error}"))
}

/// Objects are merged; null takes a key away.
fn merge(into: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (key, value) in more {
        match (into.get_mut(key), value) {
            (_, Value::Null) => drop(into.remove(key)),
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            _ => drop(into.insert(key.clone(), value.clone())),
        }
    }
}

/// Takes what the old settings said out of a policy, and puts in what the new ones say.
fn exchange(policy: &mut Policy, old: &Policy, new: &Policy) {
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
pub(super) fn update(desk: &Desk, request: &Value) -> Result<Value, String> {
    let (source, key) = match text(request, "source")? {
        "localSettings" => (Source::Local, "outputStyle"),
        "userSettings" => (Source::User, "effortLevel"),
        other => return Err(format!("settings of `{other}` are not written here")),
    };
    let Some(Value::Object(settings)) = request.get("settings") else {
        return Err("the request has no object `settings`".to_owned());
    };
    if let Some(other) = settings.keys().find(|other| *other != key) {
        return Err(format!("`{other}` is not written there; only `{key}` is"));
    }
    let path = file(desk, source)?;
    for value in settings.values() {
        if !value.is_string() {
            return Err(format!("`{key}` is no text"));
        }
        keep_setting(&path, &[key], |_| Some(value.clone())).map_err(|error| error.to_string())?;
    }
    Ok(json!({}))
}

/// Which settings there are here.
pub(crate) fn request(desk: &Desk) -> Result<windlass_settings::Request, String> {
    let cwd = working_directory().map_err(|refusal| refusal.to_string())?;
    let environment = |name: &str| std::env::var_os(name);
    layers::request(&desk.args.settings, &cwd, &environment).map_err(|refusal| refusal.to_string())
}

/// Where settings of a layer are written.
pub(crate) fn file(desk: &Desk, source: Source) -> Result<PathBuf, String> {
    let request = request(desk)?;
    let sources = request.sources;
    let root = windlass_settings::load(&request).trust.root;
    match source {
        Source::User if sources.user => {
            let folder = request.places.user.first().ok_or("the user has no home here")?;
            Ok(folder.join("settings.json"))
        }
        Source::Project if sources.project => Ok(root.join(".claude/settings.json")),
        Source::Local if sources.local => Ok(root.join(".claude/settings.local.json")),
        _ => Err(format!("{} are not read in this session (--setting-sources)", name(source))),
    }
}

/// `list_permission_rules`.
pub(super) async fn rules(desk: &mut Desk) -> Result<Value, String> {
    let flags = desk.args.permission.allowed_tools.join(" ");
    let flags = format!("{flags} {}", desk.args.permission.disallowed_tools.join(" "));
    let stage = opened(desk)?;
    let settings = stage.session.settings().await.ok_or(super::OVER)?;
    let loaded = &stage.layers.loaded;
    let policy = &settings.policy;
    let source = |rule: &Rule| {
        let text = rule.to_string();
        let origin = loaded.rule_origin(&text);
        let is_it = |name: &str| origin.is_some_and(|origin| origin.starts_with(name));
        let file = loaded.files.iter().find(|file| is_it(&file.name));
        match file {
            Some(file) => name(file.source),
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
        "managedOnly": false, "errors": errors(&stage.layers),
        "mode": Mode::name(policy.mode),
    } }))
}

/// The word clients have for a layer.
pub(crate) fn name(source: Source) -> &'static str {
    match source {
        Source::User => "userSettings",
        Source::Project => "projectSettings",
        Source::Local => "localSettings",
        Source::Flag => "flagSettings",
        Source::Managed => "policySettings",
    }
}
