//! `get_hooks_listing`: the hooks in force, those of the client included.

use serde_json::{Value, json};
use windlass_assembly::settings::settings_source_name;
use windlass_driver::hooks::{HookEvent, HookListing, HookType};
use windlass_settings::SettingsSource;

use super::require_session;
use crate::event_loop::EventLoop;

pub(super) fn list_hooks(event_loop: &mut EventLoop) -> Result<Value, String> {
    let own = event_loop
        .initialize_options
        .build_hook_set(&event_loop.client.channel)
        .unwrap_or_default()
        .list();
    let live = require_session(event_loop)?;
    let layers = &live.settings.layers;
    let (set, _problems) = layers.read_hooks();
    let listing = set.list();
    let source = |hook: &HookListing| {
        let layer = layers.loaded.hooks.iter().find(|layer| layer.name == hook.source);
        layer.map(|layer| layer.source)
    };
    let configured = listing
        .iter()
        .map(|hook| hook_to_json(hook, source(hook).map_or("sessionHook", settings_source_name)));
    let rows: Vec<Value> =
        configured.chain(own.iter().map(|hook| hook_to_json(hook, "sessionHook"))).collect();
    let all: Vec<&HookListing> = listing.iter().chain(&own).collect();
    let count = |event: HookEvent| all.iter().filter(|hook| hook.event == event).count();
    let entry = |event: HookEvent| {
        json!({
            "name": event.name(), "summary": "", "supportsMatcher": event.is_about_tool_call(),
            "hookCount": count(event),
        })
    };
    let events = HookEvent::ALL.iter().copied();
    let listed: Vec<Value> = events.clone().filter(|event| count(*event) > 0).map(entry).collect();
    let is_managed = |hook: &&HookListing| source(hook) == Some(SettingsSource::Managed);
    let managed = listing.iter().filter(is_managed).count();
    Ok(json!({
        "events": listed,
        "hooks": rows,
        "eventCatalog": events.map(entry).collect::<Vec<Value>>(),
        "policy": {
            "disabledByPolicy": false, "managedOnly": false, "pluginOnly": false,
            "allDisabled": layers.loaded.settings.hooks.disable_all_hooks == Some(true),
            "policyHookCount": managed,
        },
    }))
}

fn hook_to_json(hook: &HookListing, source: &str) -> Value {
    let mut row = json!({
        "event": hook.event.name(),
        "matcher": hook.matcher,
        "source": source,
        "sourceLabel": hook.source,
        "type": hook.kind.name(),
        "displayText": hook.name,
        "commandText": hook.name,
        "contentLabel": if hook.kind == HookType::Http { "URL" } else { "Command" },
        "timeout": hook.timeout_millis / 1_000,
    });
    if let (Some(condition), Value::Object(fields)) = (&hook.condition, &mut row) {
        fields.insert("condition".to_owned(), Value::from(condition.as_str()));
    }
    row
}
