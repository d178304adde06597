//! Requests about MCP servers.

use serde_json::{Map, Value, json};
use windlass_driver::Registry;
use windlass_driver::mcp::config::{Layer, orders};
use windlass_driver::mcp::connection::ReplyPart;
use windlass_driver::mcp::{ServerStatus, Servers};
use windlass_vocabulary::ToolSpec;

use super::{OVER, Served, later, opened, text};
use crate::front::stream_json::desk::Desk;
use crate::front::stream_json::{fit, inside, pipe};

/// `mcp_status`.
pub(super) fn status(desk: &Desk) -> Result<Value, String> {
    let servers: Vec<Value> = of(desk)?.status().iter().map(shown).collect();
    Ok(json!({ "mcpServers": servers }))
}

/// `mcp_reconnect`. A server may be asked over the very line that we are to hear, so it is waited for
/// beside the desk.
pub(super) fn reconnect(desk: &Desk, request: &Value) -> Result<Served, String> {
    let name = text(request, "serverName")?.to_owned();
    let servers = of(desk)?.clone();
    known(&servers, &name)?;
    Ok(later(async move {
        let outcome = servers.reconnect(&name).await;
        move |_: &mut Desk| outcome.map(|()| json!({})).map_err(|failure| failure.to_string())
    }))
}

/// `mcp_toggle`.
pub(super) fn toggle(desk: &Desk, request: &Value) -> Result<Served, String> {
    let name = text(request, "serverName")?.to_owned();
    let is_on = request.get("enabled").and_then(Value::as_bool);
    let is_on = is_on.ok_or_else(|| "the request has no `enabled`".to_owned())?;
    let servers = of(desk)?.clone();
    known(&servers, &name)?;
    Ok(later(async move {
        let outcome = servers.switch(&name, is_on).await;
        move |_: &mut Desk| outcome.map(|()| json!({})).map_err(|failure| failure.to_string())
    }))
}

/// `mcp_set_servers`: these and no others, beside those that were there from the start. Their tools
/// are offered once they are known.
pub(super) fn set(desk: &mut Desk, request: &Value) -> Result<Served, String> {
    let Some(Value::Object(wanted)) = request.get("servers") else {
        return Err("the request has no object `servers`".to_owned());
    };
    let stage = opened(desk)?;
    let (servers, session) = (stage.remote.clone(), stage.session.clone());
    let inside = |value: &Value| value.get("type").is_some_and(|kind| kind == "sdk");
    let (own, others): (Vec<_>, Vec<_>) =
        wanted.clone().into_iter().partition(|(_, value)| inside(value));
    let layer = Layer { scope: "dynamic".to_owned(), servers: others.into_iter().collect() };
    let variables = |name: &str| std::env::var(name).ok();
    let (orders, notes) = orders(&[layer], &stage.cwd(), &variables);
    let mut added: Vec<String> = own.into_iter().map(|(name, _)| name).collect();
    inside::connect(&servers, &added, &desk.port, &desk.ears);
    for mut order in orders {
        order.is_always_loaded = true;
        added.push(order.name.clone());
        servers.add(order);
    }
    let before = std::mem::replace(&mut desk.dynamic, added.clone());
    let gone = before.into_iter().filter(|name| !added.contains(name));
    let removed: Vec<String> = gone.filter(|name| servers.remove(name)).collect();
    let mut errors: Map<String, Value> =
        notes.into_iter().zip(1..).map(|(note, n)| (format!("#{n}"), Value::from(note))).collect();
    Ok(later(async move {
        inside::settled(servers.clone(), added.clone()).await;
        for one in servers.status().into_iter().filter(|one| added.contains(&one.name)) {
            if let Some(error) = one.error {
                errors.insert(one.name, Value::from(error));
            }
        }
        let offered = offered(&servers);
        let changed = session.configure(move |settings| {
            let is_remote = |name: &str| name.starts_with("mcp__");
            let own = settings.tools.iter().filter(|spec| !is_remote(spec.name.as_str()));
            settings.tools = own.cloned().chain(offered).collect();
        });
        move |_: &mut Desk| {
            changed.map_err(|error| error.to_string())?;
            Ok(json!({ "added": added, "removed": removed, "errors": errors }))
        }
    }))
}

/// What is told of the tools of servers.
fn offered(servers: &Servers) -> Vec<ToolSpec> {
    let mut registry = Registry::empty();
    servers.offer(&mut registry);
    registry.specs()
}

/// `mcp_read_resource`: what a server offers to draw. A server inside the client is the client's own to
/// ask.
pub(super) fn resource(desk: &mut Desk, request: &Value) -> Result<Served, String> {
    let name = text(request, "serverName")?.to_owned();
    let uri = text(request, "uri")?.to_owned();
    if !uri.starts_with("ui://") {
        return Err(format!("`{uri}` is no ui:// resource; only those are read here"));
    }
    let own = inside::names(&desk.args, &desk.wishes.servers);
    let servers = of(desk)?.clone();
    known(&servers, &name)?;
    if own.contains(&name) {
        return Err(format!(
            "the MCP server `{name}` is inside the client, which can ask it itself"
        ));
    }
    Ok(later(async move {
        let read = servers.read(&name, &uri).await.map_err(|failure| failure.to_string());
        move |_: &mut Desk| {
            let contents = read?.into_iter().filter_map(|part| match part {
                ReplyPart::Text(text) => Some(json!({ "uri": uri, "text": text })),
                ReplyPart::Media { media_type, data, .. } => {
                    Some(json!({ "uri": uri, "mimeType": media_type, "blob": data }))
                }
                ReplyPart::Link { .. } => None,
            });
            let answer = json!({ "contents": contents.collect::<Vec<Value>>() });
            match fit::length(&answer) < pipe::LINE_MAX - 1_000 {
                true => Ok(answer),
                false => Err(format!("`{uri}` is too long for one line")),
            }
        }
    }))
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
