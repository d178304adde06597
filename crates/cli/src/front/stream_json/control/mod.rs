//! What a client may ask beside the conversation. Each request gets exactly one answer.

mod context;
mod servers;
mod undo;

use serde_json::{Value, json};
use windlass_driver::Interrupt;
use windlass_vocabulary::{Mode, ThinkingMode};

use super::desk::{Desk, waiting};
use super::initialize::{self, Wishes};
use super::stage::{LEVEL, Stage};
use crate::choice;
use crate::config::Config;

/// Serves one request.
pub(crate) async fn serve(desk: &mut Desk, request: &Value) -> Result<Value, String> {
    let Some(subtype) = request.get("subtype").and_then(Value::as_str) else {
        return Err("the request has no `subtype`".to_owned());
    };
    match subtype {
        "initialize" => greet(desk, request),
        "interrupt" => interrupt(desk, request),
        "set_permission_mode" => set_mode(desk, request),
        "set_model" => set_model(desk, request),
        "set_max_thinking_tokens" => set_thinking(desk, request),
        "get_context_usage" => {
            let stage = opened(desk)?;
            let found = stage.session.inventory().await;
            found.map(|found| context::usage(&found)).ok_or_else(|| OVER.to_owned())
        }
        "mcp_status" => servers::status(desk),
        "mcp_reconnect" => servers::reconnect(desk, request).await,
        "mcp_toggle" => servers::toggle(desk, request).await,
        "mcp_message" => servers::message(desk, request),
        "rewind_files" => undo::rewind(desk, request).await,
        "get_binary_version" => {
            Ok(json!({ "version": env!("CARGO_PKG_VERSION"), "claude_code_version": LEVEL }))
        }
        "get_session_cost" => Ok(json!({ "total_cost_usd": desk.account.dollars() })),
        "get_usage" => Ok(json!({ "modelUsage": desk.account.by_model() })),
        "cancel_async_message" => cancel_message(desk, request),
        other => Err(format!("there is no control request `{other}` here")),
    }
}

/// Must the session have begun, with everything that belongs to it?
pub(crate) fn needs_session(request: &Value) -> bool {
    let subtype = request.get("subtype").and_then(Value::as_str);
    matches!(
        subtype,
        Some(
            "set_permission_mode"
                | "set_model"
                | "set_max_thinking_tokens"
                | "get_context_usage"
                | "mcp_status"
                | "rewind_files"
        )
    )
}

fn greet(desk: &mut Desk, request: &Value) -> Result<Value, String> {
    let wishes = Wishes::read(request)?;
    let Some(plan) = &mut desk.plan else {
        return Err("the conversation has begun; `initialize` comes before the first prompt".into());
    };
    wishes.apply(plan);
    let answer = initialize::answer(plan, true);
    desk.wishes = wishes;
    Ok(answer)
}

fn interrupt(desk: &mut Desk, request: &Value) -> Result<Value, String> {
    let mut answer = json!({});
    if request.get("cancel_queued") == Some(&Value::Bool(true)) {
        set(&mut answer, "cancelled", waiting(desk).into());
        desk.queue.clear();
    }
    set(&mut answer, "still_queued", waiting(desk).into());
    if let (Some(stage), Some(_)) = (&desk.stage, &desk.turn) {
        stage.session.interrupt(Interrupt::User).map_err(|error| error.to_string())?;
    }
    Ok(answer)
}

fn set_mode(desk: &mut Desk, request: &Value) -> Result<Value, String> {
    let name = text(request, "mode")?;
    let wanted =
        Mode::named(name).ok_or_else(|| format!("there is no permission mode `{name}`"))?;
    let may_skip = desk.args.permission.dangerously_skip_permissions
        || desk.args.headless.allow_dangerously_skip_permissions
        || desk.args.permission.permission_mode
            == Some(crate::args::PermissionMode::BypassPermissions);
    if wanted == Mode::BypassPermissions && !may_skip {
        return Err(
            "bypassPermissions was not allowed when the session was started; start it with \
                    --allow-dangerously-skip-permissions"
                .to_owned(),
        );
    }
    let stage = opened(desk)?;
    if wanted == Mode::BypassPermissions && stage.layers.loaded.forbids_bypass {
        return Err("settings forbid bypassPermissions (disableBypassPermissionsMode)".to_owned());
    }
    stage
        .session
        .configure(move |settings| settings.policy.mode = wanted)
        .map_err(|error| error.to_string())?;
    stage.mode = wanted;
    desk.tell_mode(wanted.name());
    Ok(json!({ "mode": wanted.name() }))
}

fn set_model(desk: &mut Desk, request: &Value) -> Result<Value, String> {
    let wanted = request.get("model").and_then(Value::as_str).filter(|name| *name != "default");
    let stage = opened(desk)?;
    let wanted = wanted.unwrap_or(&stage.model_first).to_owned();
    let lookup = |name: &str| std::env::var_os(name);
    let config: &Config = &stage.atlas.config;
    let chosen = choice::choose(&wanted, config, &lookup).map_err(|refusal| refusal.to_string())?;
    if chosen.provider != stage.atlas.first.provider {
        return Err(format!(
            "{} lives at another provider than this session; start a new one with --model",
            chosen.full_name()
        ));
    }
    let facts = chosen.facts();
    stage.model.clone_from(&chosen.name);
    desk.account.knows(&facts);
    let stage = opened(desk)?;
    stage
        .session
        .configure(move |settings| settings.model = facts)
        .map_err(|error| error.to_string())?;
    Ok(json!({}))
}

fn set_thinking(desk: &mut Desk, request: &Value) -> Result<Value, String> {
    let thinking = match request.get("max_thinking_tokens").and_then(Value::as_u64) {
        None => ThinkingMode::Unset,
        Some(0) => ThinkingMode::Disabled,
        Some(_) => ThinkingMode::Adaptive,
    };
    let stage = opened(desk)?;
    stage
        .session
        .configure(move |settings| settings.thinking = thinking)
        .map_err(|error| error.to_string())?;
    Ok(json!({}))
}

fn cancel_message(desk: &mut Desk, request: &Value) -> Result<Value, String> {
    let uuid = text(request, "message_uuid")?;
    let before = desk.queue.len();
    desk.queue.retain(|prompt| prompt.uuid.as_deref() != Some(uuid));
    Ok(json!({ "cancelled": desk.queue.len() < before }))
}

/// The session, which is started if it was not.
fn opened(desk: &mut Desk) -> Result<&mut Stage, String> {
    desk.open()?;
    desk.stage.as_mut().ok_or_else(|| OVER.to_owned())
}

fn text<'a>(request: &'a Value, key: &str) -> Result<&'a str, String> {
    let value = request.get(key).and_then(Value::as_str);
    value.ok_or_else(|| format!("the request has no text `{key}`"))
}

fn set(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.insert(key.to_owned(), value);
    }
}

const OVER: &str = "the session is over";
