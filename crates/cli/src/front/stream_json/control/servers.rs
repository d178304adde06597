//! Requests about MCP servers.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_driver::mcp::{ServerStatus, Servers};

use super::{OVER, text};
use crate::front::stream_json::desk::Desk;

/// `mcp_status`.
pub(super) fn status(desk: &Desk) -> Result<Value, String> {
    let servers: Vec<Value> = of(desk)?.status().iter().map(shown).collect();
    Ok(json!({ "mcpServers": servers }))
}

/// `mcp_reconnect`.
pub(super) async fn reconnect(desk: &Desk, request: &Value) -> Result<Value, String> {
    let name = text(request, "serverName")?;
    // A server may be asked over the very line that we are to hear, so it is not waited for here.
    let (servers, name) = (of(desk)?.clone(), Arc::<str>::from(name));
    known(&servers, &name)?;
    tokio::spawn(async move {
        // How it went is told by `mcp_status`.
        let _ = servers.reconnect(&name).await;
    });
    Ok(json!({}))
}

/// `mcp_toggle`.
pub(super) async fn toggle(desk: &Desk, request: &Value) -> Result<Value, String> {
    let name = text(request, "serverName")?.to_owned();
    let is_on = request.get("enabled").and_then(Value::as_bool);
    let is_on = is_on.ok_or_else(|| "the request has no `enabled`".to_owned())?;
    let servers = of(desk)?.clone();
    known(&servers, &name)?;
    tokio::spawn(async move {
        let _ = servers.switch(&name, is_on).await;
    });
    Ok(json!({}))
}

/// `mcp_message`: a server inside the client says something by itself.
pub(super) fn message(desk: &Desk, request: &Value) -> Result<Value, String> {
    let name = text(request, "server_name")?;
    let message = request.get("message").cloned().unwrap_or_default();
    match desk.ears.hear(name, message) {
        true => Ok(json!({})),
        false => Err(format!("there is no MCP server `{name}` inside the client")),
    }
}

fn of(desk: &Desk) -> Result<&Servers, String> {
    let planned = desk.plan.as_ref().map(|plan| &plan.remote);
    desk.stage.as_ref().map(|stage| &stage.remote).or(planned).ok_or_else(|| OVER.to_owned())
}

fn known(servers: &Servers, name: &str) -> Result<(), String> {
    let is_there = servers.status().iter().any(|one| one.name == name);
    is_there.then_some(()).ok_or_else(|| format!("there is no MCP server `{name}`"))
}

fn shown(one: &ServerStatus) -> Value {
    let prefix = format!("mcp__{}__", one.name);
    let tools: Vec<Value> = one
        .tools
        .iter()
        .map(|name| json!({ "name": name.strip_prefix(&prefix).unwrap_or(name) }))
        .collect();
    let mut value = json!({
        "name": one.name, "status": one.status.word(), "scope": one.scope, "tools": tools,
    });
    if let Value::Object(fields) = &mut value {
        if let Some(error) = &one.error {
            fields.insert("error".to_owned(), Value::from(error.as_str()));
        }
        if let Some(facts) = &one.facts {
            let info = json!({ "name": facts.name, "version": facts.version });
            fields.insert("serverInfo".to_owned(), info);
        }
    }
    value
}
