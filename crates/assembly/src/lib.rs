//! Flags, settings, project files and provider become a session that is ready to start.
//!
//! The only place that wires the crates together. It runs in stages, each with a named result:
//! `RunOptions` (the request), `ResolvedOptions` (flags, environment and settings combined),
//! `ProjectFiles`, `PromptPlan`, `ToolSetup`, and `SessionPlan` (everything a front end needs to
//! start). A stage that changes an earlier result returns it changed (`apply_to`).

pub mod cell;
pub mod date;
pub mod demo_session;
pub mod directories;
mod environment_overrides;
pub mod failure_advice;
pub mod limits;
pub mod mcp;
pub mod model_selection;
pub mod options;
mod project_files;
pub mod prompt_expansion;
pub mod prompt_input;
mod prompt_plan;
pub mod report;
pub mod resolved;
pub mod retry_cutoff;
pub mod sandbox;
pub mod session;
pub mod session_close;
pub mod session_overview;
pub mod session_plan;
pub mod settings;
pub mod slash_command;
pub mod telemetry;
mod tool_context;
pub mod tool_selection;
mod tool_setup;
pub mod tools_only;

/// The level of the protocol that clients compare.
pub const PROTOCOL_VERSION: &str = "2.1.300";
