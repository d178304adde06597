//! Displays a run: text as it streams, tools as they run, faults and retries.
//!
//! On a terminal text appears as it arrives and is struck out if its answer breaks off. Without one,
//! every line is printed once, when it is final.

mod console_output;
mod diff;
mod run_counters;
pub(crate) mod run_to_end;
mod word_wrapper;

use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;
use windlass_vocabulary::{
    ContentBlock, Delta, Notice, ToolCall, ToolCallId, ToolOutcome, ToolResultPart,
};

use crate::run_display::run_to_end::{ObserverStatus, RunObserver};
pub(crate) use console_output::{ConsoleOutput, ConsoleStyle};
pub(crate) use run_counters::RunCounters;
use windlass_host::display::human_format;
use windlass_host::display::strip_control_characters;
use windlass_host::display::tool_call_summary::{summarize_tool_call, truncate_with_ellipsis};
use windlass_stream_json::output_writer::OutputClosed;

/// The front end of `windlass demo`.
#[derive(Debug)]
pub(crate) struct RunDisplay {
    pub(crate) console: ConsoleOutput,
    pub(crate) counters: RunCounters,
    /// Stripped from the paths that are displayed.
    directory: String,
    calls: Vec<ToolCall>,
    /// The call whose line was printed last, so that its result needs no name.
    last_call: Option<ToolCallId>,
    countdown: Option<RetryCountdown>,
}

#[derive(Debug)]
struct RetryCountdown {
    words: String,
    until: Instant,
}

impl RunDisplay {
    pub(crate) fn new(console: ConsoleOutput, directory: &Path) -> Self {
        Self {
            console,
            counters: RunCounters::default(),
            directory: format!("{}/", directory.display()),
            calls: Vec::new(),
            last_call: None,
            countdown: None,
        }
    }

    fn show_notice(&mut self, notice: &Notice) -> Result<(), OutputClosed> {
        match notice {
            Notice::RequestStarted { .. } => self.end_wait(),
            Notice::Streamed { delta, .. } => self.show_delta(delta),
            Notice::Retracted { why, .. } => self.console.retract(why),
            Notice::ToolStarted(call) => self.show_tool_started(call),
            Notice::ToolEnded { call, outcome } => self.show_tool_ended(call, outcome),
            Notice::RetryScheduled { failure, attempt, attempts_max, wait } => {
                let status = failure.status.map(|status| format!("{status}: "));
                let (what, _) = human_format::describe_failure(failure);
                let words = format!(
                    "! {}{what}; retry {attempt} of {attempts_max}",
                    status.unwrap_or_default()
                );
                self.begin_wait(words, Duration::from_millis(wait.0))
            }
            Notice::ToolDenied { call, why } => {
                let line = format!("{} was denied: {why}", summarize_tool_call(call, CALL_MAX));
                self.console.write_separate_line(ConsoleStyle::Warning, &line)
            }
            Notice::ModelSwitched { to, why, .. } => {
                let line = format!("switched to {to}: {why}");
                self.console.write_separate_line(ConsoleStyle::Warning, &line)
            }
            Notice::Repaired { why } | Notice::Warning(why) => {
                self.console.write_separate_line(ConsoleStyle::Warning, why)
            }
            Notice::RunStarted
            | Notice::AnswerStarted { .. }
            | Notice::Sealed { .. }
            | Notice::MessageAdded(_)
            | Notice::ToolProgressed { .. }
            | Notice::PermissionAsked { .. }
            | Notice::PermissionWithdrawn(_)
            | Notice::ContextShrunk { .. }
            | Notice::Continued { .. }
            | Notice::HookMessage { .. }
            | Notice::Hook(_)
            | Notice::FilesChanged { .. }
            | Notice::ToolsLabelled(_)
            | Notice::SessionTitled(_)
            | Notice::PromptSuggested(_)
            | Notice::SideQuestionAnswered(_)
            | Notice::InputQueued(_)
            | Notice::Billed { .. }
            | Notice::MaxTurnsReached { .. }
            | Notice::SubagentNotice { .. }
            | Notice::RunEnded(_) => Ok(()),
        }
    }

    fn show_delta(&mut self, delta: &Delta) -> Result<(), OutputClosed> {
        match delta {
            Delta::Thinking(text) => self.console.stream_text(ConsoleStyle::Dim, text),
            Delta::Text(text) => self.console.stream_text(ConsoleStyle::Plain, text),
            Delta::Block(ContentBlock::Text(_) | ContentBlock::Thinking(_)) => {
                self.console.end_stream()
            }
            Delta::CallStarted { .. }
            | Delta::CallInput(_)
            | Delta::Block(_)
            | Delta::Call { .. }
            | Delta::Usage(_)
            | Delta::Cleared { .. }
            | Delta::Raw(_) => Ok(()),
        }
    }

    fn show_tool_started(&mut self, call: &ToolCall) -> Result<(), OutputClosed> {
        self.calls.push(call.clone());
        self.last_call = Some(call.id.clone());
        let line = self.describe_call(call);
        self.console.write_heading(&line)
    }

    fn show_tool_ended(
        &mut self,
        id: &ToolCallId,
        outcome: &ToolOutcome,
    ) -> Result<(), OutputClosed> {
        let Some(index) = self.calls.iter().position(|call| call.id == *id) else {
            return Ok(());
        };
        let call = self.calls.remove(index);
        let follows_heading = self.last_call.take().as_ref() == Some(id);
        let text = render_outcome_text(outcome);
        if call.name.as_str() == "Read" && !outcome.is_error {
            let name = match follows_heading {
                true => String::new(),
                false => format!("{}: ", self.describe_call(&call)),
            };
            let line =
                format!("{name}{}", human_format::format_counted(text.lines().count(), "line"));
            return self.console.write_indented(ConsoleStyle::Dim, &line);
        }
        if !follows_heading {
            let line = format!("{}:", self.describe_call(&call));
            self.console.write_indented(ConsoleStyle::Strong, &line)?;
        }
        let patch = outcome.structured.as_ref().map(diff::render_patch_lines);
        if let Some(lines) = patch.filter(|lines| !lines.is_empty()) {
            for (style, line) in lines {
                self.console.write_indented(style, &line)?;
            }
            return Ok(());
        }
        self.show_output_tail(&text, outcome.is_error)
    }

    /// Shows the end of the output, because that is where test runners print the verdict.
    fn show_output_tail(&mut self, text: &str, is_error: bool) -> Result<(), OutputClosed> {
        let lines: Vec<&str> = text.lines().collect();
        let hidden = lines.len().saturating_sub(TAIL_LINES);
        if hidden > 0 {
            let line = format!("… {} above", human_format::format_counted(hidden, "line"));
            self.console.write_indented(ConsoleStyle::Dim, &line)?;
        }
        for line in lines.iter().skip(hidden) {
            let style = match (line.starts_with("FAIL"), line.starts_with("PASS")) {
                (true, _) => ConsoleStyle::Removed,
                (_, true) => ConsoleStyle::Added,
                _ if is_error => ConsoleStyle::Warning,
                _ => ConsoleStyle::Dim,
            };
            self.console.write_indented(style, line)?;
        }
        Ok(())
    }

    fn describe_call(&self, call: &ToolCall) -> String {
        let line = summarize_tool_call(call, CALL_MAX).replace(&self.directory, "");
        truncate_with_ellipsis(&line, self.console.width().saturating_sub(4))
    }

    fn begin_wait(&mut self, words: String, wait: Duration) -> Result<(), OutputClosed> {
        if !self.console.is_live() {
            let line = format!("{words} in {}", human_format::format_seconds(wait));
            return self.console.write_separate_line(ConsoleStyle::Warning, &line);
        }
        self.console.begin_status()?;
        let until = Instant::now() + wait;
        self.countdown = Some(RetryCountdown { words, until });
        self.count_down()
    }

    fn count_down(&mut self) -> Result<(), OutputClosed> {
        let Some(RetryCountdown { words, until }) = &self.countdown else {
            return Ok(());
        };
        let left = until.saturating_duration_since(Instant::now());
        let line = format!("{words} in {}", human_format::format_seconds(left));
        self.console.write_status(&line)
    }

    fn end_wait(&mut self) -> Result<(), OutputClosed> {
        match self.countdown.take() {
            Some(RetryCountdown { words, .. }) => {
                self.console.write_status(&format!("{words}, asking again"))?;
                self.console.end_status()
            }
            None => Ok(()),
        }
    }
}

impl RunObserver for RunDisplay {
    fn on_notice(&mut self, notice: &Notice) -> ObserverStatus {
        self.counters.on_notice(notice);
        match self.show_notice(notice) {
            Ok(()) => ObserverStatus::Continue,
            Err(OutputClosed) => ObserverStatus::ReaderGone,
        }
    }

    fn next_tick(&self) -> Option<Instant> {
        self.countdown.as_ref().map(|_| Instant::now() + COUNTDOWN_TICK)
    }

    fn tick(&mut self) {
        // The next notice reports a closed output.
        let _ = self.count_down();
    }
}

fn render_outcome_text(outcome: &ToolOutcome) -> String {
    let parts = outcome.content.iter().map(|part| match part {
        ToolResultPart::Text(text) => strip_control_characters(text).into_owned(),
        ToolResultPart::Media(media) => format!("[{}]", media.name),
    });
    parts.collect::<Vec<_>>().join("\n")
}

const COUNTDOWN_TICK: Duration = Duration::from_millis(100);
const TAIL_LINES: usize = 8;
const CALL_MAX: usize = 200;
