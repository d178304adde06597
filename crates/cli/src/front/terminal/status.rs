//! The line of status that a program of the user's prints: told about the session as JSON, run in bounded
//! time with everything it starts, the first line of what it prints. Decoration: if it fails there is none.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_driver::{Errand, Surroundings};
use windlass_terminal::{Asked, Facts};

use super::desk::Desk;
use crate::front::stream_json::LEVEL;

impl Desk {
    /// Runs the program, if settings name one.
    pub(super) fn status(self: &Arc<Self>, facts: &Facts) -> Option<Asked> {
        // Somebody reads the files right now; the next line is about what they say.
        let (command, style) = {
            let live = self.live.try_lock().ok()?;
            let settings = &live.layers.loaded.settings;
            // Who wants no programs run at fixed points means this one too.
            if settings.disable_all_hooks == Some(true) {
                return None;
            }
            (settings.status_line.as_ref()?.command.clone(), live.layers.output_style())
        };
        let told = self.told(facts, &style);
        let surroundings = Arc::clone(&self.expander.hands.surroundings);
        Some(Box::pin(async move { line(&command, &told, &surroundings).await }))
    }

    fn told(&self, facts: &Facts, style: &str) -> Value {
        let cwd = self.cwd.to_string_lossy();
        let percent = facts.tokens.saturating_mul(100).checked_div(facts.window).unwrap_or(0);
        json!({
            "hook_event_name": "Status",
            "session_id": self.expander.names.session_id,
            "transcript_path": self.journal,
            "cwd": cwd,
            "model": { "id": facts.model, "display_name": facts.model },
            "workspace": { "current_dir": cwd, "project_dir": self.expander.names.project },
            "version": LEVEL,
            "output_style": { "name": style },
            "cost": {
                "total_cost_usd": micro_dollars(facts.cost),
                "total_duration_ms": u64::try_from(facts.elapsed.as_millis()).unwrap_or(u64::MAX),
            },
            "context_window": {
                "context_window_size": facts.window,
                "total_input_tokens": facts.tokens,
                "used_percentage": percent,
            },
        })
    }
}

#[allow(clippy::cast_precision_loss, reason = "for people; a dollar has fifteen digits to spare")]
fn micro_dollars(micro: u64) -> f64 {
    micro as f64 / 1_000_000.0
}

/// The first line that the program prints; nothing, if it fails.
async fn line(command: &str, told: &Value, place: &Surroundings) -> Option<String> {
    let errand = Errand {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), command.into()],
        directory: place.cwd.clone(),
        environment: place.environment.clone(),
        input: told.to_string().into_bytes(),
        limit: LIMIT,
        output_max: BYTES_MAX,
        cancel: Default::default(),
    };
    let end = errand.run().await.ok().filter(|end| end.code == Some(0))?;
    let text = String::from_utf8_lossy(&end.stdout.bytes);
    text.lines().next().map(str::to_owned)
}

/// How long it may take.
const LIMIT: Duration = Duration::from_secs(5);
/// Bytes of what it prints.
const BYTES_MAX: usize = 16 * 1024;
