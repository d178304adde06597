//! The client of the official conformance runner.

use windlass_driver::mcp::LoginStore;
use windlass_driver::mcp::conformance::{self, ConformanceContext};
use windlass_host::command_error::CommandError;
use windlass_host::environment::EnvLookup;

/// Does what the conformance runner wants.
pub(crate) async fn run_conformance(
    url: &str,
    lookup: &impl EnvLookup,
) -> Result<String, CommandError> {
    let text = |name: &str| lookup(name).and_then(|value| value.into_string().ok());
    let (context, revision) =
        (text("MCP_CONFORMANCE_CONTEXT"), text("MCP_CONFORMANCE_PROTOCOL_VERSION"));
    let brief = ConformanceContext::new(context.as_deref(), revision.as_deref());
    // Scenarios run side by side and must not know of each other.
    let folder = std::env::temp_dir().join(format!("windlass-conformance-{}", std::process::id()));
    let done = conformance::run(url, &brief, &LoginStore::new(&folder)).await;
    let _ = std::fs::remove_dir_all(&folder);
    done.map(|()| String::new()).map_err(|error| CommandError::failure(error.to_string()))
}
