//! Control requests, parsed once from JSON.

use serde_json::{Map, Value};
use windlass_settings::SettingsSource;
use windlass_vocabulary::PermissionMode;

use crate::initialize::InitializeOptions;

/// A control request of the client. `docs/wire/control_requests.md` lists them.
#[derive(Debug)]
pub(crate) enum ControlRequest {
    ApplyFlagSettings {
        settings: Map<String, Value>,
    },
    BackgroundTasks {
        /// All calls, if none is named.
        tool_use_id: Option<String>,
    },
    CancelAsyncMessage {
        message_uuid: String,
    },
    EndUserInput,
    GetBinaryVersion,
    GetContextUsage,
    GetHooksListing,
    GetSessionCost,
    GetSettings,
    GetTaskOutput {
        task_id: String,
    },
    GetUsage,
    Initialize(Box<InitializeOptions>),
    Interrupt {
        cancel_queued: bool,
    },
    ListModels,
    ListPermissionRules,
    McpMessage {
        server_name: String,
        message: Value,
    },
    McpReadResource {
        server_name: String,
        uri: String,
    },
    McpReconnect {
        server_name: String,
    },
    McpSetServers {
        servers: Map<String, Value>,
    },
    McpStatus,
    McpToggle {
        server_name: String,
        enabled: bool,
    },
    ReadFile {
        path: String,
        max_bytes: Option<u64>,
        is_base64: bool,
    },
    ReloadOutputStyles,
    ReloadSkills,
    GenerateSessionTitle {
        /// What the session is about.
        description: String,
        /// Also give the session this title.
        persist: bool,
    },
    RenameSession {
        title: String,
        session_id: Option<String>,
    },
    RewindFiles {
        user_message_id: String,
        dry_run: bool,
    },
    SeedReadState {
        path: String,
        /// Milliseconds since 1970. Checked after the path, so a missing one is not a parse error.
        mtime: Option<f64>,
    },
    SetColor,
    SetHasSubscribers,
    SetMaxThinkingTokens {
        hides_thinking: Option<bool>,
        budget: Option<ThinkingBudget>,
    },
    SetModel {
        /// `None` goes back to the model the session began with.
        model: Option<String>,
    },
    SetPermissionMode {
        mode: PermissionMode,
    },
    SideQuestion {
        question: String,
    },
    StopTask {
        task_id: String,
    },
    UpdateSettings(SettingsUpdate),
    /// A request of a newer client, or of a service that is not ours.
    Unknown {
        subtype: String,
    },
}

/// `max_thinking_tokens` of a request that has the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThinkingBudget {
    /// As it was when the session began.
    Initial,
    Tokens(u64),
}

/// A setting that is written for later sessions. Each file takes one key.
#[derive(Debug)]
pub(crate) struct SettingsUpdate {
    pub source: SettingsSource,
    pub key: &'static str,
    pub values: Vec<Value>,
}

impl ControlRequest {
    pub(crate) fn parse(request: &Value) -> Result<Self, String> {
        let subtype = get_text(request, "subtype").ok_or("the request has no `subtype`")?;
        Ok(match subtype {
            "apply_flag_settings" => {
                Self::ApplyFlagSettings { settings: require_object(request, "settings")? }
            }
            "background_tasks" => {
                Self::BackgroundTasks { tool_use_id: get_string(request, "tool_use_id") }
            }
            "cancel_async_message" => {
                Self::CancelAsyncMessage { message_uuid: require_string(request, "message_uuid")? }
            }
            "end_user_input" => Self::EndUserInput,
            "get_binary_version" => Self::GetBinaryVersion,
            "get_context_usage" => Self::GetContextUsage,
            "get_hooks_listing" => Self::GetHooksListing,
            "get_session_cost" => Self::GetSessionCost,
            "get_settings" => Self::GetSettings,
            "get_task_output" => {
                Self::GetTaskOutput { task_id: require_string(request, "task_id")? }
            }
            "get_usage" => Self::GetUsage,
            "initialize" => Self::Initialize(Box::new(InitializeOptions::parse(request)?)),
            "interrupt" => Self::Interrupt { cancel_queued: is_true(request, "cancel_queued") },
            "list_models" => Self::ListModels,
            "list_permission_rules" => Self::ListPermissionRules,
            "mcp_message" => Self::McpMessage {
                server_name: require_string(request, "server_name")?,
                message: request.get("message").cloned().unwrap_or_default(),
            },
            "mcp_read_resource" => Self::McpReadResource {
                server_name: require_string(request, "serverName")?,
                uri: require_string(request, "uri")?,
            },
            "mcp_reconnect" => {
                Self::McpReconnect { server_name: require_string(request, "serverName")? }
            }
            "mcp_set_servers" => {
                Self::McpSetServers { servers: require_object(request, "servers")? }
            }
            "mcp_status" => Self::McpStatus,
            "mcp_toggle" => Self::McpToggle {
                server_name: require_string(request, "serverName")?,
                enabled: request
                    .get("enabled")
                    .and_then(Value::as_bool)
                    .ok_or("the request has no `enabled`")?,
            },
            "read_file" => Self::ReadFile {
                path: require_string(request, "path")?,
                max_bytes: request.get("max_bytes").and_then(Value::as_u64),
                is_base64: get_text(request, "encoding") == Some("base64"),
            },
            "reload_output_styles" => Self::ReloadOutputStyles,
            "reload_skills" => Self::ReloadSkills,
            "generate_session_title" => Self::GenerateSessionTitle {
                description: require_string(request, "description")?,
                persist: is_true(request, "persist"),
            },
            "rename_session" => Self::RenameSession {
                title: require_string(request, "title")?,
                session_id: get_string(request, "session_id"),
            },
            "rewind_files" => Self::RewindFiles {
                user_message_id: require_string(request, "user_message_id")?,
                dry_run: is_true(request, "dry_run"),
            },
            "seed_read_state" => Self::SeedReadState {
                path: require_string(request, "path")?,
                mtime: request.get("mtime").and_then(Value::as_f64),
            },
            "set_color" => Self::SetColor,
            "set_has_subscribers" => Self::SetHasSubscribers,
            "set_max_thinking_tokens" => Self::SetMaxThinkingTokens {
                hides_thinking: parse_thinking_display(request)?,
                budget: request.get("max_thinking_tokens").map(|tokens| {
                    tokens.as_u64().map_or(ThinkingBudget::Initial, ThinkingBudget::Tokens)
                }),
            },
            "set_model" => Self::SetModel {
                model: get_string(request, "model").filter(|name| name != "default"),
            },
            "set_permission_mode" => {
                let name = require_text(request, "mode")?;
                let mode = PermissionMode::from_name(name);
                Self::SetPermissionMode {
                    mode: mode.ok_or_else(|| format!("there is no permission mode `{name}`"))?,
                }
            }
            "side_question" => {
                Self::SideQuestion { question: require_string(request, "question")? }
            }
            "stop_task" => Self::StopTask { task_id: require_string(request, "task_id")? },
            "update_settings" => Self::UpdateSettings(SettingsUpdate::parse(request)?),
            subtype => Self::Unknown { subtype: subtype.to_owned() },
        })
    }

    /// Must the session have begun, with everything that belongs to it?
    pub(crate) fn needs_session(&self) -> bool {
        !matches!(
            self,
            Self::BackgroundTasks { .. }
                | Self::CancelAsyncMessage { .. }
                | Self::EndUserInput
                | Self::GetBinaryVersion
                | Self::GetSessionCost
                | Self::GetUsage
                | Self::Initialize(_)
                | Self::Interrupt { .. }
                | Self::McpMessage { .. }
                | Self::SetColor
                | Self::SetHasSubscribers
                | Self::UpdateSettings(_)
        )
    }
}

impl SettingsUpdate {
    fn parse(request: &Value) -> Result<Self, String> {
        let (source, key) = match require_text(request, "source")? {
            "localSettings" => (SettingsSource::Local, "outputStyle"),
            "userSettings" => (SettingsSource::User, "effortLevel"),
            other => return Err(format!("settings of `{other}` are not written here")),
        };
        let settings = require_object(request, "settings")?;
        if let Some(other) = settings.keys().find(|other| *other != key) {
            return Err(format!("`{other}` is not written there; only `{key}` is"));
        }
        Ok(Self { source, key, values: settings.into_iter().map(|(_, value)| value).collect() })
    }
}

/// Whether the model's reasoning is left out of frames; `None` if nothing is said about it.
fn parse_thinking_display(request: &Value) -> Result<Option<bool>, String> {
    match request.get("thinking_display").map(Value::as_str) {
        None => Ok(None),
        Some(Some("omitted")) => Ok(Some(true)),
        Some(None | Some("summarized")) => Ok(Some(false)),
        Some(Some(other)) => Err(format!("`{other}` is not known here")),
    }
}

fn get_text<'a>(request: &'a Value, key: &str) -> Option<&'a str> {
    request.get(key).and_then(Value::as_str)
}

fn get_string(request: &Value, key: &str) -> Option<String> {
    get_text(request, key).map(str::to_owned)
}

fn is_true(request: &Value, key: &str) -> bool {
    request.get(key) == Some(&Value::Bool(true))
}

fn require_text<'a>(request: &'a Value, key: &str) -> Result<&'a str, String> {
    get_text(request, key).ok_or_else(|| format!("the request has no text `{key}`"))
}

fn require_string(request: &Value, key: &str) -> Result<String, String> {
    require_text(request, key).map(str::to_owned)
}

fn require_object(request: &Value, key: &str) -> Result<Map<String, Value>, String> {
    match request.get(key) {
        Some(Value::Object(fields)) => Ok(fields.clone()),
        _ => Err(format!("the request has no object `{key}`")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A request without its fields is malformed; one that is not served is unknown.
    fn is_served(subtype: &str) -> bool {
        let parsed = ControlRequest::parse(&json!({ "subtype": subtype }));
        !matches!(parsed, Ok(ControlRequest::Unknown { .. }))
    }

    #[test]
    fn the_requests_in_docs_are_those_that_are_served() {
        let page = include_str!("../../../../docs/wire/control_requests.md");
        let rows = page.lines().filter(|line| line.starts_with("| `"));
        let mut count = 0;
        for row in rows {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            for subtype in cells[1].split(", ").map(|name| name.trim_matches('`')) {
                assert_eq!(is_served(subtype), cells[3].starts_with("served"), "{subtype}");
                count += 1;
            }
        }
        assert!(count > 40, "{count}");
    }
}
