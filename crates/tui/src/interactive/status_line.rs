//! Runs the user's status line command. It receives the session as JSON, has a timeout that
//! includes its children, and the first line of its output is shown. If it fails, there is no
//! status line.

use std::sync::Arc;
use std::time::Duration;

use crate::{StatusLineFacts, StatusLineFuture};
use serde_json::{Value, json};
use windlass_driver::{OneShotCommand, ToolSessionContext};

use super::prompt_handler::PromptHandler;
use super::words;
use windlass_assembly::PROTOCOL_VERSION;

impl PromptHandler {
    /// Returns nothing if no settings name a program.
    pub(super) fn start_status_line(
        self: &Arc<Self>,
        facts: &StatusLineFacts,
    ) -> Option<StatusLineFuture> {
        // While settings are being reloaded the lock is taken; the next status line has the new ones.
        let (command, style) = {
            let reloader = self.settings_state.reloader.try_lock().ok()?;
            let settings = &reloader.layers.loaded.settings;
            // A user who disables hooks wants no programs started at fixed points: nor this one.
            if settings.hooks.disable_all_hooks == Some(true) {
                return None;
            }
            let command = settings.appearance.status_line.as_ref()?.command.as_str();
            let guarded = reloader.layers.guard_command_line("statusLine", command);
            (guarded, reloader.layers.output_style())
        };
        let input = self.build_status_line_input(facts, &style);
        let context = Arc::clone(&self.expander.tools.tool_context);
        Some(Box::pin(async move {
            if let Err(why) = command.check() {
                return Some(words::describe_status_line_problem(&why));
            }
            run_status_command(&command.line, &input, &context).await
        }))
    }

    fn build_status_line_input(&self, facts: &StatusLineFacts, style: &str) -> Value {
        let cwd = self.cwd.to_string_lossy();
        let percent =
            facts.context_tokens.saturating_mul(100).checked_div(facts.context_window).unwrap_or(0);
        json!({
            "hook_event_name": "Status",
            "session_id": self.expander.variables.session_id,
            "transcript_path": self.transcript,
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

#[allow(clippy::cast_precision_loss, reason = "for display; no session costs 2^53 micro-dollars")]
fn micro_dollars_to_dollars(micro: u64) -> f64 {
    micro as f64 / 1_000_000.0
}

async fn run_status_command(
    command: &str,
    input: &Value,
    context: &ToolSessionContext,
) -> Option<String> {
    let one_shot = OneShotCommand {
        held_by: None,
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), command.into()],
        directory: context.files.cwd.clone(),
        environment: context.processes.environment.clone(),
        input: input.to_string().into_bytes(),
        timeout: STATUS_LINE_TIMEOUT,
        output_bytes_max: OUTPUT_BYTES_MAX,
        cancel: Default::default(),
    };
    let end = one_shot.run().await.ok().filter(|end| end.code == Some(0))?;
    let text = String::from_utf8_lossy(&end.stdout.bytes);
    text.lines().next().map(str::to_owned)
}

const STATUS_LINE_TIMEOUT: Duration = Duration::from_secs(5);
const OUTPUT_BYTES_MAX: usize = 16 * 1024;
