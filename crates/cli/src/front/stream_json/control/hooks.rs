//! `get_hooks_listing`: the hooks in force, those of the client included.

use serde_json::{Value, json};
use windlass_driver::hooks::{HookEvent, Listed};

use super::opened;
use super::settings::name;
use crate::front::stream_json::desk::Desk;
use crate::hooks;

/// Lists them.
pub(super) fn list(desk: &mut Desk) -> Result<Value, String> {
    let own = desk.wishes.hooks(&desk.port).unwrap_or_default().listing();
    let stage = opened(desk)?;
    let layers = &stage.layers;
    let (set, _problems) = hooks::configured(layers);
    let listing = set.listing();
    let source = |hook: &Listed| {
        let layer = layers.loaded.hooks.iter().find(|layer| layer.name == hook.source);
        layer.map_or("sessionHook", |layer| name(layer.source))
    };
    let configured = listing.iter().map(|hook| row(hook, source(hook)));
    let rows: Vec<Value> =
        configured.chain(own.iter().map(|hook| row(hook, "sessionHook"))).collect();
    let all: Vec<&Listed> = listing.iter().chain(&own).collect();
    let count = |event: HookEvent| all.iter().filter(|hook| hook.event == event).count();
    let entry = |event: HookEvent| {
        json!({
            "name": event.name(), "summary": "", "supportsMatcher": event.is_about_a_call(),
            "hookCount": count(event),
        })
    };
    let events = HookEvent::ALL.iter().copied();
    let listed: Vec<Value> = events.clone().filter(|event| count(*event) > 0).map(entry).collect();
    let managed = rows.iter().filter(|row| row["source"] == "policySettings").count();
    Ok(json!({
        "events": listed,
        "hooks": rows,
        "eventCatalog": events.map(entry).collect::<Vec<Value>>(),
        "policy": {
            "disabledByPolicy": false, "managedOnly": false, "pluginOnly": false,
            "allDisabled": layers.loaded.settings.disable_all_hooks == Some(true),
            "policyHookCount": managed,
        },
    }))
}

fn row(hook: &Listed, source: &str) -> Value {
    let mut row = json!({
        "event": hook.event.name(),
        "matcher": hook.matcher,
        "source": source,
        "sourceLabel": hook.source,
        "type": hook.kind,
        "displayText": hook.name,
        "commandText": hook.name,
        "contentLabel": if hook.kind == "http" { "URL" } else { "Command" },
        "timeout": hook.limit_millis / 1_000,
    });
    if let (Some(condition), Value::Object(fields)) = (&hook.condition, &mut row) {
        fields.insert("condition".to_owned(), Value::from(condition.as_str()));
    }
    row
}
