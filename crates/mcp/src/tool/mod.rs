//! Remote tools behind our `Tool` trait.
//!
//! Callers do not distinguish them from built-in tools. A server's hints about its tools are
//! claims: they affect how calls are scheduled, never whether they may run.

mod outcome;
mod remote_tool;
mod resource_tools;
mod tool_schema;

pub(crate) use outcome::McpResultCaps;
pub(crate) use remote_tool::RemoteTool;
pub(crate) use resource_tools::{ListMcpResources, ReadMcpResource};
