//! Runs a user's program that prints headers for collectors as a JSON object, and caches its
//! output.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use windlass_tool::environment::build_child_environment;
use windlass_tool::{OneShotCommand, OneShotEndCause};

use crate::config::{HeaderList, HeadersProgram};

pub(super) struct ProgramHeaders {
    helper: Option<HeadersProgram>,
    /// The last output and its expiry. Shared by all signals.
    known: Mutex<Option<(HeaderList, Instant)>>,
}

impl ProgramHeaders {
    pub(super) fn new(helper: Option<HeadersProgram>) -> Self {
        Self { helper, known: Mutex::new(None) }
    }

    /// The headers to send now. Errors contain no header values.
    pub(super) async fn current(&self) -> Result<HeaderList, String> {
        let Some(helper) = &self.helper else { return Ok(HeaderList::default()) };
        let mut known = self.known.lock().await;
        if let Some((headers, until)) = &*known
            && Instant::now() < *until
        {
            return Ok(headers.clone());
        }
        let headers = run(helper).await?;
        *known = Some((headers.clone(), Instant::now() + helper.lifetime));
        Ok(headers)
    }
}

async fn run(helper: &HeadersProgram) -> Result<HeaderList, String> {
    let failed = |why: String| format!("otelHeadersHelper {why}");
    if let Some(path) = helper.command.guard.find_changed_script(&helper.command.line) {
        return Err(failed(format!(
            "was not run: {path} has changed since you trusted it; look at it and run `windlass trust`"
        )));
    }
    let cancel = CancellationToken::new();
    // If this future is dropped with the request, the program and its children are killed.
    let _end = cancel.clone().drop_guard();
    let command = OneShotCommand {
        held_by: None,
        program: PathBuf::from("/bin/sh"),
        arguments: ["-c", &helper.command.line].map(Into::into).into(),
        directory: helper.directory.clone(),
        environment: build_child_environment(std::env::vars_os()),
        input: Vec::new(),
        timeout: RUN_MAX,
        output_bytes_max: OUTPUT_BYTES_MAX,
        cancel,
    };
    let ended = command.run().await.map_err(|error| failed(format!("does not start: {error}")))?;
    if ended.cause == OneShotEndCause::Deadline {
        return Err(failed(format!("takes longer than {} s", RUN_MAX.as_secs())));
    }
    if ended.code != Some(0) {
        return Err(failed("failed".to_owned()));
    }
    let printed: BTreeMap<String, String> = serde_json::from_slice(&ended.stdout.bytes)
        .map_err(|_| failed("does not print a JSON object of strings".to_owned()))?;
    Ok(HeaderList::from_pairs(printed.into_iter().collect()))
}

const RUN_MAX: Duration = Duration::from_secs(5);
const OUTPUT_BYTES_MAX: usize = 64 * 1024;
