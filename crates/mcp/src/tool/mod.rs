//! Remote tools as ours.
//!
//! A tool of a server obeys the same trait as the built-in ones, so nothing above has to know. What
//! a server says of its tools is a claim: it decides how calls are scheduled, never whether they may
//! run.

mod outcome;
mod remote_tool;
mod resource_tools;
mod tool_schema;

pub(crate) use outcome::McpResultCaps;
pub(crate) use remote_tool::RemoteTool;
pub(crate) use resource_tools::{ListMcpResources, ReadMcpResource};
