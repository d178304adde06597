//! The values of the protocol, version 1, as far as we speak them. Unknown fields are ignored, as the
//! protocol asks. Held against the published schema by the tests of the command.

mod config_option;
mod content;
mod initialize;
mod permission;
mod session;
mod tool_call;
mod update;

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

/// The only version there is, as a number.
pub(crate) const PROTOCOL_VERSION: u16 = 1;
