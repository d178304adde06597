//! The values of the protocol, version 1, as far as we speak them. Unknown fields are ignored, as the
//! protocol asks. Held against the published schema by the tests of the command.

mod config_option;
mod content;
mod initialize;
mod permission;
mod session;
mod tool_call;
mod update;

use serde::{Deserialize, Deserializer};

pub(crate) use config_option::{ConfigChoice, ConfigOption, ModeList, SessionMode};
pub(crate) use content::AcpContent;
pub(crate) use initialize::{ClientCapabilities, InitializeParams};
pub(crate) use permission::{PermissionOption, PermissionOptionKind, PermissionOutcome};
pub(crate) use session::{
    AcpListedSession, EditorMcpServer, ListParams, LoadParams, NamedValue, NewParams, PromptParams,
    PromptStopReason, SessionParams, SetConfigOptionParams, SetModeParams,
};
pub(crate) use tool_call::{
    FileLocation, ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolKind,
};
pub(crate) use update::{
    AvailableCommand, CommandInput, CompactionStatus, Cost, NoticeSeverity, PlanEntry,
    SessionUpdate,
};

/// What is optional may be left out or `null`, which the schema takes for the same.
fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// The only version there is, as a number.
pub(crate) const PROTOCOL_VERSION: u16 = 1;
