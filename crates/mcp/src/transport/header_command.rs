//! A program of the user's that says which headers go with requests to a server: one JSON object, anew
//! for every connection. It runs as the user's own programs do, with a deadline and a cap.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use windlass_tool::{OneShotCommand, OneShotEndCause, ToolSessionContext};

use super::http::HttpServerConfig;
use super::stdio;
use crate::connection::clean_excerpt;
use crate::failure::McpFailure;

/// How long it may take.
const LIMIT: Duration = Duration::from_secs(10);
/// What is taken of what it writes.
const OUTPUT_MAX: usize = 64 * 1024;

/// The order with the headers that its program says; they go before those that are written.
pub(crate) async fn with_command_headers(
    order: &HttpServerConfig,
    surroundings: &ToolSessionContext,
) -> Result<HttpServerConfig, McpFailure> {
    let Some(command) = &order.headers_command else { return Ok(order.clone()) };
    let failed =
        |why: String| McpFailure::Unreachable { reason: format!("its headersHelper {why}") };
    let cancel = CancellationToken::new();
    // Given up with the connection, it ends with everything it started.
    let _end = cancel.clone().drop_guard();
    let errand = OneShotCommand {
        program: PathBuf::from("/bin/sh"),
        arguments: ["-c", command].map(Into::into).into(),
        directory: surroundings.files.cwd.clone(),
        environment: stdio::base_environment(surroundings),
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
    let said: BTreeMap<String, String> = serde_json::from_slice(&ended.stdout.bytes)
        .map_err(|error| failed(format!("does not write an object of texts as JSON: {error}")))?;
    let mut order = order.clone();
    let is_said = |name: &str| said.keys().any(|known| known.eq_ignore_ascii_case(name));
    order.headers.retain(|(name, _)| !is_said(name));
    order.headers.extend(said);
    Ok(order)
}
