//! One continuation: a process of ours on its trial, followed by the frames it prints.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};
use windlass_driver::trial::Trial;
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::display::tool_call_summary::truncate_with_ellipsis;
use windlass_host::environment::EnvLookup;
use windlass_host::standard_streams::write_error_line;
use windlass_vocabulary::MicroUsd;

use super::variant::RaceVariant;
use crate::trial_process::build_command;

/// What one of them may print in all; a run prints far less.
const OUTPUT_BYTES_MAX: u64 = 1 << 30;
const STDERR_BYTES_MAX: u64 = 64 << 10;
const WORDS_CHARS_MAX: usize = 80;

#[derive(Debug)]
pub(super) struct Continuation {
    pub(super) session: String,
    pub(super) directory: PathBuf,
    pub(super) trial: Trial,
    pub(super) variant: RaceVariant,
    /// What the session had spent before the race.
    pub(super) spent_before: MicroUsd,
    /// What it may have spent at its end.
    pub(super) budget: Option<MicroUsd>,
}

/// How one of them ended.
#[derive(Clone, Debug, Default)]
pub(super) struct ContinuationEnd {
    pub(super) is_error: bool,
    /// Why it ended, as the result frame says.
    pub(super) reason: String,
    pub(super) turns: u64,
    pub(super) cost_usd: f64,
    pub(super) answer: String,
}

impl Continuation {
    pub(super) fn spawn(
        &self,
        arguments: &[OsString],
        lookup: &impl EnvLookup,
    ) -> Result<Child, CommandError> {
        let mut words = self.variant.arguments();
        words.push(format!("--resume={}", self.session).into());
        words.push("--output-format=stream-json".into());
        if let Some(MicroUsd(micros)) = self.budget {
            let dollars = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
            words.push(format!("--max-budget-usd={dollars}").into());
        }
        words.extend(arguments.iter().cloned());
        let command = build_command(&self.trial, &self.directory, words, lookup)?;
        let mut command = Command::from(command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true).spawn().map_err(|error| {
            CommandError::failure(format!("a continuation cannot be started: {error}"))
        })
    }

    pub(super) fn discard(self) {
        self.trial.discard();
    }
}

/// Follows it to its end, and tells what it does on the way.
pub(super) async fn follow(mut child: Child, label: String) -> ContinuationEnd {
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let mut end = ContinuationEnd { is_error: true, ..ContinuationEnd::default() };
    let reading = async {
        let Some(stdout) = stdout else { return };
        let mut lines = BufReader::new(stdout.take(OUTPUT_BYTES_MAX)).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if let Ok(frame) = serde_json::from_str::<Value>(&line) {
                take_frame(&mut end, &label, &frame);
            }
        }
    };
    let listening = async {
        let mut words = Vec::new();
        if let Some(stderr) = stderr {
            let mut stderr = stderr.take(STDERR_BYTES_MAX);
            let _ = stderr.read_to_end(&mut words).await;
            let mut rest = stderr.into_inner();
            // What is more than that is drained, or the child would wait for us.
            let _ = tokio::io::copy(&mut rest, &mut tokio::io::sink()).await;
        }
        String::from_utf8_lossy(&words).into_owned()
    };
    let ((), words) = tokio::join!(reading, listening);
    let status = child.wait().await;
    if end.reason.is_empty() {
        let last = words.lines().rfind(|line| !line.trim().is_empty());
        end.reason = last.map_or_else(|| "it ended without a result".to_owned(), to_single_line);
    }
    end.is_error |= !status.is_ok_and(|status| status.success());
    let mark = if end.is_error { "failed" } else { "done" };
    write_error_line(&format!("[{label}] {mark}: ${:.4}, {}", end.cost_usd, end.reason));
    end
}

fn take_frame(end: &mut ContinuationEnd, label: &str, frame: &Value) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match frame["type"].as_str() {
        Some("assistant") => {
            let content = frame.pointer("/message/content").and_then(Value::as_array);
            let blocks = content.into_iter().flatten();
            for block in blocks.filter(|block| block["type"] == "tool_use") {
                let input = &block["input"];
                let about = ["command", "file_path", "pattern", "description"];
                let about = about.iter().find_map(|name| input[*name].as_str()).unwrap_or_default();
                let words = format!("{} {}", text(&block["name"]), to_single_line(about));
                let words = truncate_with_ellipsis(words.trim(), WORDS_CHARS_MAX);
                write_error_line(&format!("[{label}] {words}"));
            }
        }
        Some("result") => {
            end.is_error = frame["is_error"].as_bool().unwrap_or(true);
            end.turns = frame["num_turns"].as_u64().unwrap_or_default();
            end.cost_usd = frame["total_cost_usd"].as_f64().unwrap_or_default();
            end.answer = text(&frame["result"]);
            let reason = &frame["terminal_reason"];
            end.reason = text(if reason.is_string() { reason } else { &frame["subtype"] });
        }
        _ => {}
    }
}
