//! Control requests of the client. Each gets exactly one response.

mod background_tasks;
mod context_usage;
mod files;
mod hooks;
mod mcp_servers;
mod model;
mod reload;
mod request;
mod rewind_files;
pub(crate) mod settings;
mod side_question;

use std::pin::Pin;

use serde_json::{Value, json};
use windlass_driver::{Interrupt, SettingsChange};
use windlass_vocabulary::PermissionMode;

use crate::event_loop::EventLoop;
use crate::initialize::{self, InitializeOptions};
use crate::live_session::LiveSession;
use crate::session_phase::SESSION_OVER;
use windlass_assembly::PROTOCOL_VERSION;
use windlass_assembly::session::predecessor::wait_until_free;

pub(crate) use request::ControlRequest;

pub(crate) enum ControlOutcome {
    Now(Result<Value, String>),
    /// Something has to be waited for, outside the event loop.
    Later(Pin<Box<dyn Future<Output = RequestCompletion> + Send>>),
}

/// The rest of a request when its wait is over; runs in the event loop and returns the answer.
pub(crate) type RequestCompletion = Box<dyn FnOnce(&mut EventLoop) -> Result<Value, String> + Send>;

impl From<Result<Self, String>> for ControlOutcome {
    fn from(served: Result<Self, String>) -> Self {
        served.unwrap_or_else(|why| Self::Now(Err(why)))
    }
}

/// Waits first, and then does the rest in the event loop.
fn answer_later<F>(work: impl Future<Output = F> + Send + 'static) -> ControlOutcome
where
    F: FnOnce(&mut EventLoop) -> Result<Value, String> + Send + 'static,
{
    ControlOutcome::Later(Box::pin(async move { Box::new(work.await) as RequestCompletion }))
}

pub(crate) async fn serve_control_request(
    event_loop: &mut EventLoop,
    request: ControlRequest,
) -> ControlOutcome {
    use ControlRequest as Request;
    let outcome = match request {
        Request::ApplyFlagSettings { settings } => {
            return settings::apply_flag_settings(event_loop, &settings).into();
        }
        Request::BackgroundTasks { tool_use_id } => {
            Ok(background_tasks::move_to_background(event_loop, tool_use_id.as_deref()))
        }
        Request::CancelAsyncMessage { message_uuid } => {
            Ok(cancel_queued_message(event_loop, &message_uuid))
        }
        Request::EndUserInput => {
            event_loop.on_last_prompt_sent();
            Ok(json!({}))
        }
        Request::GetBinaryVersion => Ok(
            json!({ "version": env!("CARGO_PKG_VERSION"), "claude_code_version": PROTOCOL_VERSION }),
        ),
        Request::GetContextUsage => context_usage::build_context_usage(event_loop).await,
        Request::GetHooksListing => hooks::list_hooks(event_loop),
        Request::GetSessionCost => {
            Ok(json!({ "total_cost_usd": event_loop.usage_totals.total_cost_to_json() }))
        }
        Request::GetSettings => settings::get_settings(event_loop),
        Request::GetTaskOutput { task_id } => {
            background_tasks::read_task_output(event_loop, &task_id)
        }
        Request::GetUsage => Ok(usage_to_json(event_loop)),
        Request::Initialize(options) => initialize_session(event_loop, *options).await,
        Request::Interrupt { cancel_queued } => interrupt_turn(event_loop, cancel_queued),
        Request::ListModels => model::list_models(event_loop),
        Request::ListPermissionRules => settings::list_permission_rules(event_loop).await,
        Request::McpMessage { server_name, message } => {
            mcp_servers::deliver_message(event_loop, &server_name, message)
        }
        Request::McpReadResource { server_name, uri } => {
            return mcp_servers::read_resource(event_loop, server_name, uri).into();
        }
        Request::McpReconnect { server_name } => {
            return mcp_servers::reconnect(event_loop, server_name).into();
        }
        Request::McpSetServers { servers } => {
            return mcp_servers::set_servers(event_loop, servers).into();
        }
        Request::McpStatus => mcp_servers::list_server_status(event_loop),
        Request::McpToggle { server_name, enabled } => {
            return mcp_servers::toggle(event_loop, server_name, enabled).into();
        }
        Request::ReadFile { path, max_bytes, is_base64 } => {
            return files::read_file(event_loop, &path, max_bytes, is_base64).await.into();
        }
        Request::ReloadOutputStyles => return reload::reload_output_styles(event_loop).into(),
        Request::ReloadSkills => return reload::reload_skills(event_loop).into(),
        Request::GenerateSessionTitle { description, persist } => {
            let title = shorten_to_title(&description);
            match persist && !title.is_empty() {
                true => rename_session(event_loop, title.clone(), None),
                false => Ok(json!({})),
            }
            .map(|_| json!({ "title": title }))
        }
        Request::RenameSession { title, session_id } => {
            rename_session(event_loop, title, session_id.as_deref())
        }
        Request::RewindFiles { user_message_id, dry_run } => {
            rewind_files::rewind_files(event_loop, user_message_id, dry_run).await
        }
        Request::SeedReadState { path, mtime } => {
            return files::seed_read_state(event_loop, &path, mtime).await.into();
        }
        // Nothing here is coloured, and nothing is held back for want of readers.
        Request::SetColor | Request::SetHasSubscribers => Ok(json!({})),
        Request::SetMaxThinkingTokens { hides_thinking, budget } => {
            model::set_thinking(event_loop, hides_thinking, budget)
        }
        Request::SetModel { model } => {
            return model::choose_model(event_loop, model.as_deref()).into();
        }
        Request::SetPermissionMode { mode } => set_permission_mode(event_loop, mode),
        Request::SideQuestion { question } => {
            return side_question::ask(event_loop, question).into();
        }
        Request::StopTask { task_id } => {
            return background_tasks::stop_task(event_loop, task_id).into();
        }
        Request::UpdateSettings(update) => settings::update_settings(event_loop, &update),
        Request::Unknown { subtype } => {
            Err(format!("there is no control request `{subtype}` here"))
        }
    };
    ControlOutcome::Now(outcome)
}

fn usage_to_json(event_loop: &EventLoop) -> Value {
    let used = event_loop.usage_totals.usage_by_model();
    json!({
        "modelUsage": used,
        "session": { "total_cost_usd": event_loop.usage_totals.total_cost_to_json(), "model_usage": used },
        "subscription_type": null,
        "rate_limits_available": false,
        "rate_limits": null,
    })
}

fn rename_session(
    event_loop: &mut EventLoop,
    title: String,
    session_id: Option<&str>,
) -> Result<Value, String> {
    let live = require_session(event_loop)?;
    if session_id.is_some_and(|meant| meant != live.files.session_id) {
        return Err("another session is open here now".to_owned());
    }
    live.session.rename(title).map_err(|error| error.to_string())?;
    Ok(json!({}))
}

/// A title from the client's description of the session: its first words. No model is asked, so
/// that this is free and immediate; a model writes a title after the first run anyway.
fn shorten_to_title(description: &str) -> String {
    let mut title = String::new();
    for word in description.split_whitespace() {
        if title.chars().count() + word.chars().count() >= TITLE_CHARACTERS_MAX {
            break;
        }
        if !title.is_empty() {
            title.push(' ');
        }
        title.extend(word.chars().filter(|letter| !letter.is_control()));
    }
    if title.is_empty() {
        title = description.trim().chars().take(TITLE_CHARACTERS_MAX).collect();
    }
    title
}

const TITLE_CHARACTERS_MAX: usize = 60;

async fn initialize_session(
    event_loop: &mut EventLoop,
    options: InitializeOptions,
) -> Result<Value, String> {
    let Some(plan) = event_loop.session.plan_mut() else {
        return Err("the conversation has begun; `initialize` comes before the first prompt".into());
    };
    if let Some(journal) = &plan.journal {
        let free = wait_until_free(journal).await;
        free.map_err(|refusal| refusal.to_string())?;
    }
    options.apply_to_plan(plan);
    let answer = initialize::build_initialize_response(plan, &options);
    event_loop.initialize_options = options;
    event_loop.deferred_call.on_initialize();
    Ok(answer)
}

fn interrupt_turn(event_loop: &mut EventLoop, cancel_queued: bool) -> Result<Value, String> {
    let mut answer = json!({});
    if cancel_queued {
        set_field(&mut answer, "cancelled", event_loop.prompts.waiting_ids().into());
        event_loop.prompts.waiting.clear();
    }
    set_field(&mut answer, "still_queued", event_loop.prompts.waiting_ids().into());
    if let (Some(live), Some(_)) = (event_loop.session.live(), &event_loop.turn) {
        live.session.interrupt(Interrupt::User).map_err(|error| error.to_string())?;
    }
    Ok(answer)
}

fn set_permission_mode(
    event_loop: &mut EventLoop,
    wanted: PermissionMode,
) -> Result<Value, String> {
    let may_skip = event_loop.args.permission.dangerously_skip_permissions
        || event_loop.args.headless.allow_dangerously_skip_permissions
        || event_loop.args.permission.permission_mode == Some(PermissionMode::BypassPermissions);
    if wanted == PermissionMode::BypassPermissions && !may_skip {
        return Err(
            "bypassPermissions was not allowed when the session was started; start it with \
                    --allow-dangerously-skip-permissions"
                .to_owned(),
        );
    }
    let live = require_session(event_loop)?;
    if wanted == PermissionMode::BypassPermissions && live.settings.layers.loaded.forbids_bypass {
        return Err("settings forbid bypassPermissions (disableBypassPermissionsMode)".to_owned());
    }
    live.session.configure([SettingsChange::Mode(wanted)]).map_err(|error| error.to_string())?;
    live.mode = wanted;
    event_loop.send_permission_mode(wanted.name());
    Ok(json!({ "mode": wanted.name() }))
}

fn cancel_queued_message(event_loop: &mut EventLoop, uuid: &str) -> Value {
    let waiting = &mut event_loop.prompts.waiting;
    let before = waiting.len();
    waiting.retain(|prompt| prompt.uuid.as_deref() != Some(uuid));
    json!({ "cancelled": waiting.len() < before })
}

/// The session, which is started if it was not.
fn require_session(event_loop: &mut EventLoop) -> Result<&mut LiveSession, String> {
    event_loop.open_session()?;
    event_loop.session.live_mut().ok_or_else(|| SESSION_OVER.to_owned())
}

fn set_field(object: &mut Value, key: &str, value: Value) {
    if let Value::Object(fields) = object {
        fields.insert(key.to_owned(), value);
    }
}
