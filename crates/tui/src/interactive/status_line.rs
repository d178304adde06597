//! The line of status that a program of the user's prints: told about the session as JSON, run in bounded
//! time with everything it starts, the first line of what it prints. Decoration: if it fails there is none.

use std::sync::Arc;
use std::time::Duration;

use crate::{StatusLineFacts, StatusLineFuture};
use serde_json::{Value, json};
use windlass_driver::{OneShotCommand, ToolSessionContext};

use super::prompt_handler::PromptHandler;
use windlass_assembly::PROTOCOL_VERSION;

impl PromptHandler {
    /// Runs the program, if settings name one.
    pub(super) fn start_status_line(
        self: &Arc<Self>,
        facts: &StatusLineFacts,
    ) -> Option<StatusLineFuture> {
        // Somebody reads the files right now; the next line is about what they say.
        let (command, style) = {
            let live = self.settings_reloader.try_lock().ok()?;
            let settings = &live.layers.loaded.settings;
            // Who wants no programs run at fixed points means this one too.
            if settings.hooks.disable_all_hooks == Some(true) {
                return None;
            }
            (settings.appearance.status_line.as_ref()?.command.clone(), live.layers.output_style())
        };
        let told = self.build_status_line_input(facts, &style);
        let surroundings = Arc::clone(&self.expander.tools.tool_context);
        Some(Box::pin(async move { run_status_command(&command, &told, &surroundings).await }))
    }

    fn build_status_line_input(&self, facts: &StatusLineFacts, style: &str) -> Value {
        let cwd = self.cwd.to_string_lossy();
        let percent =
            facts.context_tokens.saturating_mul(100).checked_div(facts.context_window).unwrap_or(0);
        json!({
            "hook_event_name": "Status",
            "session_id": self.expander.variables.session_id,
            "transcript_path": self.journal,
            "cwd": cwd,
            "model": { "id": facts.model, "display_name": facts.model },
            "workspace": { "current_dir": cwd, "project_dir": self.expander.variables.project_directory },
            "version": PROTOCOL_VERSION,
            "output_style": { "name": style },
            "cost": {
                "total_cost_usd": micro_dollars_to_dollars(facts.cost),
                "total_duration_ms": u64::try_from(facts.elapsed.as_millis()).unwrap_or(u64::MAX),
            },
            "context_window": {
                "context_window_size": facts.context_window,
                "total_input_tokens": facts.context_tokens,
                "used_percentage": percent,
            },
        })
    }
}

#[allow(clippy::cast_precision_loss, reason = "for people; a dollar has fifteen digits to spare")]
fn micro_dollars_to_dollars(micro: u64) -> f64 {
    micro as f64 / 1_000_000.0
}

/// The first line that the program prints; nothing, if it fails.
async fn run_status_command(
    command: &str,
    told: &Value,
    place: &ToolSessionContext,
) -> Option<String> {
    let errand = OneShotCommand {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), command.into()],
        directory: place.files.cwd.clone(),
        environment: place.processes.environment.clone(),
        input: told.to_string().into_bytes(),
        timeout: STATUS_LINE_TIMEOUT,
        output_bytes_max: OUTPUT_BYTES_MAX,
        cancel: Default::default(),
    };
    let end = errand.run().await.ok().filter(|end| end.code == Some(0))?;
    let text = String::from_utf8_lossy(&end.stdout.bytes);
    text.lines().next().map(str::to_owned)
}

/// How long it may take.
const STATUS_LINE_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of what it prints.
const OUTPUT_BYTES_MAX: usize = 16 * 1024;
