//! The room of the MCP client, which will offer the tools of remote servers as ours.
//!
//! It is empty: no server can be configured yet. A remote tool will be a `windlass_tool::Tool` put
//! into the registry behind the built-in ones, so nothing above this crate will have to know.
