//! Notifications to a client while a session works.

use serde::Serialize;

use super::{AcpContent, ConfigOption, ToolCallUpdate};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "sessionUpdate", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(crate) enum SessionUpdate {
    UserMessageChunk {
        content: AcpContent,
    },
    AgentMessageChunk {
        content: AcpContent,
        /// Chunks of one answer have the same.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_id: Option<String>,
    },
    AgentThoughtChunk {
        content: AcpContent,
    },
    ToolCall(ToolCallUpdate),
    ToolCallUpdate(ToolCallUpdate),
    /// Always the whole list.
    Plan {
        entries: Vec<PlanEntry>,
    },
    AvailableCommandsUpdate {
        available_commands: Vec<AvailableCommand>,
    },
    CurrentModeUpdate {
        current_mode_id: &'static str,
    },
    ConfigOptionUpdate {
        config_options: Vec<ConfigOption>,
    },
    SessionInfoUpdate {
        title: String,
    },
    UsageUpdate {
        used: u64,
        size: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        cost: Option<Cost>,
    },
    /// Only for clients that take notices.
    Notice {
        severity: NoticeSeverity,
        title: String,
    },
    /// Only for clients that take compactions.
    CompactionUpdate {
        compaction_id: String,
        status: CompactionStatus,
        #[serde(skip_serializing_if = "Option::is_none")]
        summary: Option<Vec<AcpContent>>,
        /// Why it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct PlanEntry {
    pub content: String,
    pub priority: &'static str,
    pub status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct AvailableCommand {
    pub name: String,
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<CommandInput>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct CommandInput {
    pub hint: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Cost {
    pub amount: f64,
    pub currency: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NoticeSeverity {
    Info,
    Warning,
    Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CompactionStatus {
    InProgress,
    Completed,
    Failed,
    Cancelled,
}
