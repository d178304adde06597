//! The client for the official MCP conformance runner.

use windlass_driver::mcp::LoginStore;
use windlass_driver::mcp::conformance::{self, ConformanceContext};
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;

pub(crate) async fn run_conformance(
    url: &str,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    let text = |name: &str| lookup(name).and_then(|value| value.into_string().ok());
    let context = text("MCP_CONFORMANCE_CONTEXT");
    let revision = text("MCP_CONFORMANCE_PROTOCOL_VERSION");
    let conformance_context = ConformanceContext::new(context.as_deref(), revision.as_deref());
    // Scenarios run in parallel and must not share logins.
    let folder = std::env::temp_dir().join(format!("windlass-conformance-{}", std::process::id()));
    let result = conformance::run(url, &conformance_context, &LoginStore::new(&folder)).await;
    let _ = std::fs::remove_dir_all(&folder);
    result.map(|()| String::new()).map_err(|error| CommandError::failure(error.to_string()))
}
