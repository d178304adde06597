//! One continuation: a `windlass` process on its trial, followed through its stream-json output.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use windlass_assembly::session::delete_session;
use windlass_assembly::session::fork_with_files::{ForkArguments, ForkFiles, fork_with_files};
use windlass_assembly::session::rewind_point::trace_messages;
use windlass_assembly::session::session_lookup::find_session_here;
use windlass_assembly::session::trials::SHARED_BUDGET_VARIABLE;
use windlass_driver::trial::{Trial, TrialAccess};
use windlass_host::child_command;
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::display::tool_call_summary::truncate_with_ellipsis;
use windlass_host::environment::EnvLookup;
use windlass_host::standard_streams::write_error_line;
use windlass_journal::SnapshotStore;

use super::race_budget::{RaceBudget, RaceShare};
use super::variant::RaceVariant;
use crate::trial_process::build_command;

/// Limit on the output of one process; a run prints far less.
const OUTPUT_BYTES_MAX: u64 = 1 << 30;
const STDERR_BYTES_MAX: u64 = 64 << 10;
const WORDS_CHARS_MAX: usize = 80;

#[derive(Debug)]
pub(super) struct Continuation {
    pub(super) session: String,
    pub(super) directory: PathBuf,
    pub(super) trial: Trial,
    pub(super) variant: RaceVariant,
    /// What its process may write outside the trial.
    pub(super) access: TrialAccess,
    pub(super) journal: PathBuf,
    /// Its share of a common budget.
    pub(super) share: Option<RaceShare>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ContinuationEnd {
    pub(super) is_error: bool,
    /// The terminal reason of the result frame.
    pub(super) reason: String,
    pub(super) turns: u64,
    pub(super) cost_usd: f64,
    pub(super) answer: String,
}

impl Continuation {
    pub(super) fn spawn(&self, arguments: &[OsString]) -> Result<Child, CommandError> {
        let mut words = self.variant.arguments();
        words.push(format!("--resume={}", self.session).into());
        words.push("--output-format=stream-json".into());
        let limit = self.share.as_ref().map(RaceShare::own_limit);
        words.extend(limit.map(|limit| format!("--max-budget-usd={limit}").into()));
        words.extend(arguments.iter().cloned());
        let command = build_command(&self.trial, &self.directory, words, &self.access)?;
        let mut command = Command::from(command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(share) = &self.share {
            let (input, path) = share.open_for_process()?;
            command.stdin(input).env(SHARED_BUDGET_VARIABLE, path);
        }
        command.kill_on_drop(true).spawn().map_err(|error| {
            CommandError::failure(format!("a continuation cannot be started: {error}"))
        })
    }

    pub(super) fn draw_on(&mut self, budget: &Arc<RaceBudget>) -> Result<(), CommandError> {
        self.share = Some(budget.add_share(&self.journal)?);
        Ok(())
    }

    /// If the session worked in a copy, replaces it by a fork for the directory, because its
    /// snapshots refer to files of the copy.
    pub(super) fn leave_copy(&mut self, lookup: &impl EnvLookup) -> Result<(), CommandError> {
        if self.trial.find_in_copy(&self.directory).is_none() {
            return Ok(());
        }
        let worked = find_session_here(Some(&self.session), lookup)?;
        let arguments = ForkArguments { at: None, files: ForkFiles::Shared };
        let forked = fork_with_files(&worked, &arguments, lookup)?;
        // The changes of the original are in files of the copy.
        let _ = std::fs::remove_dir_all(SnapshotStore::folder_for(&forked.journal));
        let said = trace_messages(&forked.journal, &forked.id)?;
        let last_record = said.last().map_or(0, |last| last.last_record);
        let named = self.trial.set_session(&forked.id);
        let named = named.and_then(|()| self.trial.set_journal(&forked.journal, last_record));
        named.map_err(CommandError::failure)?;
        delete_session(&self.session, lookup)?;
        self.session = forked.id;
        self.journal = forked.journal;
        Ok(())
    }

    /// A closure that closes the budget share once the process has ended.
    pub(super) fn build_closing(&self) -> impl FnOnce() + Send + 'static {
        let (share, session, journal) =
            (self.share.clone(), self.session.clone(), self.journal.clone());
        move || {
            if let Some(share) = share {
                share.close(&session, &journal);
            }
        }
    }

    pub(super) fn discard(self) {
        self.trial.discard();
    }
}

/// Follows the process to its end and reports its tool calls. When told to stop, ends the process
/// and its commands.
pub(super) async fn follow(
    mut child: Child,
    label: String,
    mut stop: watch::Receiver<bool>,
) -> ContinuationEnd {
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
            // Drains the rest, because a full pipe would block the child.
            let _ = tokio::io::copy(&mut rest, &mut tokio::io::sink()).await;
        }
        String::from_utf8_lossy(&words).into_owned()
    };
    let working = async { tokio::join!(reading, listening).1 };
    let ended = tokio::select! {
        words = working => Some(words),
        _ = stop.wait_for(|is_stopped| *is_stopped) => None,
    };
    let Some(words) = ended else {
        child_command::terminate(&mut child).await;
        return end;
    };
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
