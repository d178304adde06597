//! Requests about MCP servers.

use serde_json::{Map, Value, json};
use windlass_assembly::mcp;
use windlass_driver::mcp::connection::McpContent;
use windlass_driver::mcp::server_config::{McpConfigLayer, resolve_server_configs};
use windlass_driver::mcp::{McpServerReport, McpServers};
use windlass_driver::{SettingsChange, ToolRegistry};
use windlass_vocabulary::ToolSpec;

use super::{ControlOutcome, answer_later, require_session};
use crate::event_loop::EventLoop;
use crate::session_phase::SESSION_OVER;
use crate::{client_mcp_servers, frame_writer, line_limit};

/// `mcp_status`.
pub(super) fn list_server_status(event_loop: &EventLoop) -> Result<Value, String> {
    let servers: Vec<Value> =
        current_servers(event_loop)?.server_reports().iter().map(server_status_to_json).collect();
    Ok(json!({ "mcpServers": servers }))
}

/// `mcp_reconnect`. A server inside the client answers over our own input, so it is waited for outside
/// the event loop.
pub(super) fn reconnect(event_loop: &EventLoop, name: String) -> Result<ControlOutcome, String> {
    let servers = current_servers(event_loop)?.clone();
    check_server_exists(&servers, &name)?;
    Ok(answer_later(async move {
        let outcome = servers.reconnect(&name).await;
        move |_: &mut EventLoop| outcome.map(|()| json!({})).map_err(|failure| failure.to_string())
    }))
}

/// `mcp_toggle`.
pub(super) fn toggle(
    event_loop: &EventLoop,
    name: String,
    enabled: bool,
) -> Result<ControlOutcome, String> {
    let servers = current_servers(event_loop)?.clone();
    check_server_exists(&servers, &name)?;
    Ok(answer_later(async move {
        let outcome = servers.set_enabled(&name, enabled).await;
        move |_: &mut EventLoop| outcome.map(|()| json!({})).map_err(|failure| failure.to_string())
    }))
}

/// `mcp_set_servers`: replaces all servers except those from the start. Their tools are offered
/// once they are known.
pub(super) fn set_servers(
    event_loop: &mut EventLoop,
    wanted: Map<String, Value>,
) -> Result<ControlOutcome, String> {
    let live = require_session(event_loop)?;
    let servers = live.mcp_servers.clone();
    let session = live.session.clone();
    let inside = |value: &Value| value.get("type").is_some_and(|kind| kind == "sdk");
    let (own, others): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|(_, value)| inside(value));
    let layer =
        McpConfigLayer { scope: "dynamic".to_owned(), servers: others.into_iter().collect() };
    let variables = |name: &str| std::env::var(name).ok();
    let (mut configs, mut notes) = resolve_server_configs(&[layer], &live.cwd(), &variables);
    let policy = &live.settings.layers.loaded.mcp_servers.policy;
    notes.extend(mcp::drop_refused_servers(&mut configs, policy));
    let mut added: Vec<String> = own.into_iter().map(|(name, _)| name).collect();
    event_loop.client_servers.connect(&servers, &added, &event_loop.client.channel);
    for mut config in configs {
        config.is_always_loaded = true;
        added.push(config.name.clone());
        servers.add(config);
    }
    let before = std::mem::replace(&mut event_loop.client_servers.dynamic, added.clone());
    let gone = before.into_iter().filter(|name| !added.contains(name));
    let removed: Vec<String> = gone.filter(|name| servers.remove(name)).collect();
    let mut errors: Map<String, Value> =
        notes.into_iter().zip(1..).map(|(note, n)| (format!("#{n}"), Value::from(note))).collect();
    Ok(answer_later(async move {
        client_mcp_servers::await_connected(servers.clone(), added.clone()).await;
        for one in servers.server_reports().into_iter().filter(|one| added.contains(&one.name)) {
            if let Some(error) = one.error {
                errors.insert(one.name, Value::from(error));
            }
        }
        let offered = list_tool_specs(&servers);
        let changed = session.configure([SettingsChange::McpTools(offered)]);
        move |_: &mut EventLoop| {
            changed.map_err(|error| error.to_string())?;
            Ok(json!({ "added": added, "removed": removed, "errors": errors }))
        }
    }))
}

fn list_tool_specs(servers: &McpServers) -> Vec<ToolSpec> {
    let mut registry = ToolRegistry::empty();
    servers.register_known_tools(&mut registry);
    registry.specs()
}

/// `mcp_read_resource`: what a server offers to draw. A server inside the client is the client's own to
/// ask.
pub(super) fn read_resource(
    event_loop: &EventLoop,
    name: String,
    uri: String,
) -> Result<ControlOutcome, String> {
    if !uri.starts_with("ui://") {
        return Err(format!("`{uri}` is not a ui:// resource; only those are read here"));
    }
    let own = client_mcp_servers::list_client_server_names(
        &event_loop.args,
        &event_loop.initialize_options.client_servers,
    );
    let servers = current_servers(event_loop)?.clone();
    check_server_exists(&servers, &name)?;
    if own.contains(&name) {
        return Err(format!(
            "the MCP server `{name}` is inside the client, which can ask it itself"
        ));
    }
    Ok(answer_later(async move {
        let read = servers.read_resource(&name, &uri).await.map_err(|failure| failure.to_string());
        move |_: &mut EventLoop| {
            let contents = read?.into_iter().filter_map(|part| match part {
                McpContent::Text(text) => Some(json!({ "uri": uri, "text": text })),
                McpContent::Media { media_type, data, .. } => {
                    Some(json!({ "uri": uri, "mimeType": media_type, "blob": data }))
                }
                McpContent::Link { .. } => None,
            });
            let answer = json!({ "contents": contents.collect::<Vec<Value>>() });
            match line_limit::json_length(&answer) < frame_writer::LINE_BYTES_MAX - 1_000 {
                true => Ok(answer),
                false => Err(format!("`{uri}` is too long for one line")),
            }
        }
    }))
}

/// `mcp_message`: a message that a server inside the client sends by itself.
pub(super) fn deliver_message(
    event_loop: &EventLoop,
    name: &str,
    message: Value,
) -> Result<Value, String> {
    match event_loop.client_servers.inboxes.deliver(name, message) {
        true => Ok(json!({})),
        false => Err(format!("there is no MCP server `{name}` inside the client")),
    }
}

fn current_servers(event_loop: &EventLoop) -> Result<&McpServers, String> {
    let planned = event_loop.session.plan().map(|plan| &plan.mcp_servers);
    let live = event_loop.session.live().map(|live| &live.mcp_servers);
    live.or(planned).ok_or_else(|| SESSION_OVER.to_owned())
}

fn check_server_exists(servers: &McpServers, name: &str) -> Result<(), String> {
    let is_there = servers.server_reports().iter().any(|one| one.name == name);
    is_there.then_some(()).ok_or_else(|| format!("there is no MCP server `{name}`"))
}

fn server_status_to_json(one: &McpServerReport) -> Value {
    let prefix = format!("mcp__{}__", one.name);
    let tools: Vec<Value> = one
        .tools
        .iter()
        .map(|name| json!({ "name": name.strip_prefix(&prefix).unwrap_or(name) }))
        .collect();
    let mut value = json!({
        "name": one.name, "status": one.status.as_str(), "scope": one.scope, "tools": tools,
    });
    if let Value::Object(fields) = &mut value {
        if let Some(error) = &one.error {
            fields.insert("error".to_owned(), Value::from(error.as_str()));
        }
        if let Some(facts) = &one.description {
            let info = json!({ "name": facts.name, "version": facts.version });
            fields.insert("serverInfo".to_owned(), info);
        }
    }
    value
}
