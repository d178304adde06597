//! What a client may ask beside the conversation. Each request gets exactly one answer.

mod aside;
mod context;
mod files;
mod hooks;
pub(crate) mod model;
mod reload;
mod servers;
pub(crate) mod settings;
mod tasks;
mod undo;

use std::pin::Pin;

use serde_json::{Value, json};
use windlass_driver::Interrupt;
use windlass_vocabulary::Mode;

use super::asks::Finish;
use super::desk::{Desk, waiting};
use super::initialize::{self, Wishes};
use super::stage::{LEVEL, Stage};

/// What becomes of a request.
pub(crate) enum Served {
    /// It is answered.
    Now(Result<Value, String>),
    /// Something has to be waited for, beside the desk.
    Later(Pin<Box<dyn Future<Output = Finish> + Send>>),
}

impl From<Result<Self, String>> for Served {
    fn from(served: Result<Self, String>) -> Self {
        served.unwrap_or_else(|why| Self::Now(Err(why)))
    }
}

/// It is answered.
#[allow(clippy::unnecessary_wraps, reason = "stands beside what may fail")]
fn now(outcome: Result<Value, String>) -> Result<Served, String> {
    Ok(Served::Now(outcome))
}

/// Waits first, and then does the rest at the desk.
fn later<F>(work: impl Future<Output = F> + Send + 'static) -> Served
where
    F: FnOnce(&mut Desk) -> Result<Value, String> + Send + 'static,
{
    Served::Later(Box::pin(async move { Finish(Box::new(work.await)) }))
}

/// Serves one request.
pub(crate) async fn serve(desk: &mut Desk, request: &Value) -> Served {
    let Some(subtype) = request.get("subtype").and_then(Value::as_str) else {
        return Served::Now(Err("the request has no `subtype`".to_owned()));
    };
    let outcome = match subtype {
        "set_model" => return model::set(desk, request).into(),
        "apply_flag_settings" => return settings::apply(desk, request).into(),
        "mcp_reconnect" => return servers::reconnect(desk, request).into(),
        "mcp_toggle" => return servers::toggle(desk, request).into(),
        "mcp_set_servers" => return servers::set(desk, request).into(),
        "mcp_read_resource" => return servers::resource(desk, request).into(),
        "read_file" => return files::read(desk, request).await.into(),
        "seed_read_state" => return files::seed(desk, request).await.into(),
        "side_question" => return aside::ask(desk, request).into(),
        "reload_skills" => return reload::skills(desk).into(),
        "reload_output_styles" => return reload::styles(desk).into(),
        "stop_task" => return tasks::stop(desk, request).into(),
        "initialize" => greet(desk, request),
        "interrupt" => interrupt(desk, request),
        "end_user_input" => {
            desk.last_said();
            Ok(json!({}))
        }
        "set_permission_mode" => set_mode(desk, request),
        "set_max_thinking_tokens" => model::set_thinking(desk, request),
        "list_models" => model::list(desk),
        "get_context_usage" => context::usage(desk).await,
        "mcp_status" => servers::status(desk),
        "mcp_message" => servers::message(desk, request),
        "rewind_files" => undo::rewind(desk, request).await,
        "background_tasks" => Ok(tasks::leave(desk, request)),
        "get_task_output" => tasks::output(desk, request),
        "get_settings" => settings::show(desk),
        "update_settings" => settings::update(desk, request),
        "list_permission_rules" => settings::rules(desk).await,
        "get_hooks_listing" => hooks::list(desk),
        "get_binary_version" => {
            Ok(json!({ "version": env!("CARGO_PKG_VERSION"), "claude_code_version": LEVEL }))
        }
        "get_session_cost" => Ok(json!({ "total_cost_usd": desk.account.dollars() })),
        "get_usage" => Ok(usage(desk)),
        "cancel_async_message" => cancel_message(desk, request),
        "rename_session" => rename(desk, request),
        // Nothing here is coloured, and nothing is held back for want of readers.
        "set_color" | "set_has_subscribers" => Ok(json!({})),
        other => Err(format!("there is no control request `{other}` here")),
    };
    Served::Now(outcome)
}

fn usage(desk: &Desk) -> Value {
    let used = desk.account.by_model();
    json!({
        "modelUsage": used,
        "session": { "total_cost_usd": desk.account.dollars(), "model_usage": used },
        "subscription_type": null,
        "rate_limits_available": false,
        "rate_limits": null,
    })
}

/// Gives the session a name that people see.
fn rename(desk: &mut Desk, request: &Value) -> Result<Value, String> {
    let title = text(request, "title")?;
    let meant = request.get("session_id").and_then(Value::as_str);
    let stage = opened(desk)?;
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

fn greet(desk: &mut Desk, request: &Value) -> Result<Value, String> {
    let wishes = Wishes::read(request)?;
    let Some(plan) = &mut desk.plan else {
        return Err("the conversation has begun; `initialize` comes before the first prompt".into());
    };
    wishes.apply(plan);
    let answer = initialize::answer(plan, &wishes);
    desk.wishes = wishes;
    desk.put_off.greeted();
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
