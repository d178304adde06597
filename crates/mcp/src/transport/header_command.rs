//! Runs the user's command that prints request headers as one JSON object, once per connection. It
//! is not confined, like other commands of the user, but has a deadline and an output limit.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_tool::{OneShotCommand, OneShotEndCause, ToolSessionContext};

use super::http::HttpServerConfig;
use super::stdio;
use crate::connection::clean_excerpt;
use crate::failure::McpFailure;

const LIMIT: Duration = Duration::from_secs(10);
/// Limit on the command's output.
const OUTPUT_MAX: usize = 64 * 1024;

/// Adds the headers of the command; they override those in the configuration.
pub(crate) async fn with_command_headers(
    config: &HttpServerConfig,
    tool_context: &ToolSessionContext,
) -> Result<HttpServerConfig, McpFailure> {
    let Some(command) = &config.headers_command else { return Ok(config.clone()) };
    let failed =
        |why: String| McpFailure::Unreachable { reason: format!("its headersHelper {why}") };
    let cancel = CancellationToken::new();
    // If the connection is abandoned, this ends the command and its children.
    let _end = cancel.clone().drop_guard();
    let errand = OneShotCommand {
        held_by: None,
        program: PathBuf::from("/bin/sh"),
        arguments: ["-c", command].map(Into::into).into(),
        directory: tool_context.files.cwd.clone(),
        environment: stdio::base_environment(tool_context),
        input: Vec::new(),
        timeout: LIMIT,
        output_bytes_max: OUTPUT_MAX,
        cancel,
    };
    let ended = errand.run().await.map_err(|error| failed(format!("does not start: {error}")))?;
    if ended.cause == OneShotEndCause::Deadline {
        return Err(failed(format!("takes longer than {} s", LIMIT.as_secs())));
    }
    if ended.code != Some(0) {
        let complaint = String::from_utf8_lossy(&ended.stderr.bytes).into_owned();
        return Err(failed(format!("failed: {}", clean_excerpt(complaint.trim(), 300))));
    }
    let printed: BTreeMap<String, String> = serde_json::from_slice(&ended.stdout.bytes)
        .map_err(|error| failed(format!("does not print a JSON object of strings: {error}")))?;
    let mut config = config.clone();
    let is_printed = |name: &str| printed.keys().any(|known| known.eq_ignore_ascii_case(name));
    config.headers.retain(|(name, _)| !is_printed(name));
    config.headers.extend(printed);
    Ok(config)
}
