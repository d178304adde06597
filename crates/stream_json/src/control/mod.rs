//! What a client may ask beside the conversation. Each request gets exactly one answer.

mod background_tasks;
mod context_usage;
mod files;
mod hooks;
mod mcp_servers;
pub(crate) mod model;
mod reload;
mod rewind_files;
pub(crate) mod settings;
mod side_question;

use std::pin::Pin;

use serde_json::{Value, json};
use windlass_driver::{Interrupt, SettingsChange};
use windlass_vocabulary::PermissionMode;

use super::client_requests::RequestCompletion;
use super::event_loop::{EventLoop, queued_prompt_ids};
use super::initialize::{self, InitializeOptions};
use super::live_session::LiveSession;
use windlass_assembly::PROTOCOL_VERSION;

/// What becomes of a request.
pub(crate) enum ControlOutcome {
    /// It is answered.
    Now(Result<Value, String>),
    /// Something has to be waited for, beside the desk.
    Later(Pin<Box<dyn Future<Output = RequestCompletion> + Send>>),
}

impl From<Result<Self, String>> for ControlOutcome {
    fn from(served: Result<Self, String>) -> Self {
        served.unwrap_or_else(|why| Self::Now(Err(why)))
    }
}

/// It is answered.
#[allow(clippy::unnecessary_wraps, reason = "stands beside what may fail")]
fn answer_now(outcome: Result<Value, String>) -> Result<ControlOutcome, String> {
    Ok(ControlOutcome::Now(outcome))
}

/// Waits first, and then does the rest at the desk.
fn answer_later<F>(work: impl Future<Output = F> + Send + 'static) -> ControlOutcome
where
    F: FnOnce(&mut EventLoop) -> Result<Value, String> + Send + 'static,
{
    ControlOutcome::Later(Box::pin(async move { RequestCompletion(Box::new(work.await)) }))
}

/// Serves one request.
pub(crate) async fn serve_control_request(desk: &mut EventLoop, request: &Value) -> ControlOutcome {
    let Some(subtype) = request.get("subtype").and_then(Value::as_str) else {
        return ControlOutcome::Now(Err("the request has no `subtype`".to_owned()));
    };
    let outcome = match subtype {
        "set_model" => return model::set_model(desk, request).into(),
        "apply_flag_settings" => return settings::apply_flag_settings(desk, request).into(),
        "mcp_reconnect" => return mcp_servers::reconnect(desk, request).into(),
        "mcp_toggle" => return mcp_servers::toggle(desk, request).into(),
        "mcp_set_servers" => return mcp_servers::set_servers(desk, request).into(),
        "mcp_read_resource" => return mcp_servers::read_resource(desk, request).into(),
        "read_file" => return files::read_file(desk, request).await.into(),
        "seed_read_state" => return files::seed_read_state(desk, request).await.into(),
        "side_question" => return side_question::ask(desk, request).into(),
        "reload_skills" => return reload::reload_skills(desk).into(),
        "reload_output_styles" => return reload::reload_output_styles(desk).into(),
        "stop_task" => return background_tasks::stop_task(desk, request).into(),
        "initialize" => initialize_session(desk, request),
        "interrupt" => interrupt_turn(desk, request),
        "end_user_input" => {
            desk.on_last_prompt_sent();
            Ok(json!({}))
        }
        "set_permission_mode" => set_permission_mode(desk, request),
        "set_max_thinking_tokens" => model::set_thinking(desk, request),
        "list_models" => model::list_models(desk),
        "get_context_usage" => context_usage::build_context_usage(desk).await,
        "mcp_status" => mcp_servers::list_server_status(desk),
        "mcp_message" => mcp_servers::deliver_message(desk, request),
        "rewind_files" => rewind_files::rewind_files(desk, request).await,
        "background_tasks" => Ok(background_tasks::move_to_background(desk, request)),
        "get_task_output" => background_tasks::read_task_output(desk, request),
        "get_settings" => settings::get_settings(desk),
        "update_settings" => settings::update_settings(desk, request),
        "list_permission_rules" => settings::list_permission_rules(desk).await,
        "get_hooks_listing" => hooks::list_hooks(desk),
        "get_binary_version" => Ok(
            json!({ "version": env!("CARGO_PKG_VERSION"), "claude_code_version": PROTOCOL_VERSION }),
        ),
        "get_session_cost" => {
            Ok(json!({ "total_cost_usd": desk.usage_totals.total_cost_to_json() }))
        }
        "get_usage" => Ok(usage_to_json(desk)),
        "cancel_async_message" => cancel_queued_message(desk, request),
        "rename_session" => rename_session(desk, request),
        // Nothing here is coloured, and nothing is held back for want of readers.
        "set_color" | "set_has_subscribers" => Ok(json!({})),
        other => Err(format!("there is no control request `{other}` here")),
    };
    ControlOutcome::Now(outcome)
}

fn usage_to_json(desk: &EventLoop) -> Value {
    let used = desk.usage_totals.usage_by_model();
    json!({
        "modelUsage": used,
        "session": { "total_cost_usd": desk.usage_totals.total_cost_to_json(), "model_usage": used },
        "subscription_type": null,
        "rate_limits_available": false,
        "rate_limits": null,
    })
}

/// Gives the session a name that people see.
fn rename_session(desk: &mut EventLoop, request: &Value) -> Result<Value, String> {
    let title = require_text(request, "title")?;
    let meant = request.get("session_id").and_then(Value::as_str);
    let stage = require_session(desk)?;
    if meant.is_some_and(|meant| meant != stage.id) {
        return Err("another session goes on here now".to_owned());
    }
    stage.session.rename(title).map_err(|error| error.to_string())?;
    Ok(json!({}))
}

/// Must the session have begun, with everything that belongs to it?
pub(crate) fn needs_session(request: &Value) -> bool {
    let subtype = request.get("subtype").and_then(Value::as_str);
    !matches!(
        subtype,
        None | Some(
            "initialize"
                | "interrupt"
                | "end_user_input"
                | "mcp_message"
                | "background_tasks"
                | "update_settings"
                | "get_binary_version"
                | "get_session_cost"
                | "get_usage"
                | "cancel_async_message"
                | "set_color"
                | "set_has_subscribers"
        )
    )
}

fn initialize_session(desk: &mut EventLoop, request: &Value) -> Result<Value, String> {
    let wishes = InitializeOptions::parse(request)?;
    let Some(plan) = &mut desk.plan else {
        return Err("the conversation has begun; `initialize` comes before the first prompt".into());
    };
    wishes.apply_to_plan(plan);
    let answer = initialize::build_initialize_response(plan, &wishes);
    desk.initialize_options = wishes;
    desk.deferred_call.on_initialize();
    Ok(answer)
}

fn interrupt_turn(desk: &mut EventLoop, request: &Value) -> Result<Value, String> {
    let mut answer = json!({});
    if request.get("cancel_queued") == Some(&Value::Bool(true)) {
        set_field(&mut answer, "cancelled", queued_prompt_ids(desk).into());
        desk.prompt_queue.clear();
    }
    set_field(&mut answer, "still_queued", queued_prompt_ids(desk).into());
    if let (Some(stage), Some(_)) = (&desk.live_session, &desk.turn) {
        stage.session.interrupt(Interrupt::User).map_err(|error| error.to_string())?;
    }
    Ok(answer)
}

fn set_permission_mode(desk: &mut EventLoop, request: &Value) -> Result<Value, String> {
    let name = require_text(request, "mode")?;
    let wanted = PermissionMode::from_name(name)
        .ok_or_else(|| format!("there is no permission mode `{name}`"))?;
    let may_skip = desk.args.permission.dangerously_skip_permissions
        || desk.args.headless.allow_dangerously_skip_permissions
        || desk.args.permission.permission_mode == Some(PermissionMode::BypassPermissions);
    if wanted == PermissionMode::BypassPermissions && !may_skip {
        return Err(
            "bypassPermissions was not allowed when the session was started; start it with \
                    --allow-dangerously-skip-permissions"
                .to_owned(),
        );
    }
    let stage = require_session(desk)?;
    if wanted == PermissionMode::BypassPermissions && stage.layers.loaded.forbids_bypass {
        return Err("settings forbid bypassPermissions (disableBypassPermissionsMode)".to_owned());
    }
    stage.session.configure([SettingsChange::Mode(wanted)]).map_err(|error| error.to_string())?;
    stage.mode = wanted;
    desk.send_permission_mode(wanted.name());
    Ok(json!({ "mode": wanted.name() }))
}

fn cancel_queued_message(desk: &mut EventLoop, request: &Value) -> Result<Value, String> {
    let uuid = require_text(request, "message_uuid")?;
    let before = desk.prompt_queue.len();
    desk.prompt_queue.retain(|prompt| prompt.uuid.as_deref() != Some(uuid));
    Ok(json!({ "cancelled": desk.prompt_queue.len() < before }))
}

/// The session, which is started if it was not.
fn require_session(desk: &mut EventLoop) -> Result<&mut LiveSession, String> {
    desk.open_session()?;
    desk.live_session.as_mut().ok_or_else(|| SESSION_OVER.to_owned())
}

fn require_text<'a>(request: &'a Value, key: &str) -> Result<&'a str, String> {
    let value = request.get(key).and_then(Value::as_str);
    value.ok_or_else(|| format!("the request has no text `{key}`"))
}

fn set_field(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.insert(key.to_owned(), value);
    }
}

const SESSION_OVER: &str = "the session is over";
