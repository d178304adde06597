//! Parameters of the session methods.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AcpContent, null_as_default};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NewParams {
    pub cwd: PathBuf,
    #[serde(default, deserialize_with = "null_as_default")]
    pub mcp_servers: Vec<EditorMcpServer>,
    #[serde(default, deserialize_with = "null_as_default")]
    pub additional_directories: Vec<PathBuf>,
}

/// `session/load` and `session/resume`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoadParams {
    pub session_id: String,
    #[serde(flatten)]
    pub new: NewParams,
}

/// A server of the client. One without a `type` is a program.
#[derive(Debug, Deserialize)]
pub(crate) struct EditorMcpServer {
    pub name: String,
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    #[serde(default)]
    pub command: Option<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    pub args: Vec<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    pub env: Vec<NamedValue>,
    #[serde(default)]
    pub url: Option<String>,
    #[serde(default, deserialize_with = "null_as_default")]
    pub headers: Vec<NamedValue>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct NamedValue {
    pub name: String,
    pub value: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PromptParams {
    pub session_id: String,
    pub prompt: Vec<AcpContent>,
}

/// Methods that name a session and nothing else.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionParams {
    pub session_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetModeParams {
    pub session_id: String,
    pub mode_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SetConfigOptionParams {
    pub session_id: String,
    pub config_id: String,
    pub value: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ListParams {
    pub cwd: Option<PathBuf>,
    pub cursor: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AcpListedSession {
    pub session_id: String,
    pub cwd: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub updated_at: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PromptStopReason {
    EndTurn,
    MaxTokens,
    MaxTurnRequests,
    Refusal,
    Cancelled,
}
