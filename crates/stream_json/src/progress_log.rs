//! Progress messages on standard error during a run.
//!
//! A clean run without a terminal writes nothing. A user at a terminal reads what would puzzle them:
//! long waits, another model, something left out, history made shorter. `--verbose` writes everything,
//! one line each.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::IsTerminal;

use windlass_vocabulary::{Notice, Tokens, ToolCallId, ToolOutcome, ToolResultPart};

use crate::output_writer::{OutputTarget, OutputWriter};
use windlass_host::command_error::to_single_line;
use windlass_host::display::human_format;
use windlass_host::display::human_format::format_count;
use windlass_host::display::tool_call_summary::{summarize_tool_call, truncate_with_ellipsis};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ProgressLevel {
    Silent,
    /// What would puzzle a user who watches.
    Unusual,
    Verbose,
}

#[derive(Debug)]
pub(crate) struct ProgressLog {
    level: ProgressLevel,
    output: OutputWriter,
    /// The running calls, to name them when they end.
    calls: BTreeMap<ToolCallId, String>,
}

impl ProgressLog {
    /// Everything if `verbose`; else only unusual events at a terminal, and nothing without one.
    pub(crate) fn new(verbose: bool) -> Self {
        let level = match verbose {
            true => ProgressLevel::Verbose,
            false if std::io::stderr().is_terminal() => ProgressLevel::Unusual,
            false => ProgressLevel::Silent,
        };
        Self { level, output: OutputWriter::new(OutputTarget::Stderr), calls: BTreeMap::new() }
    }

    pub(crate) fn from_file(file: File) -> Self {
        let output = OutputWriter::from_file(file);
        Self { level: ProgressLevel::Verbose, output, calls: BTreeMap::new() }
    }

    pub(crate) fn on_notice(&mut self, notice: &Notice) {
        if self.level == ProgressLevel::Silent {
            return;
        }
        if let Some((level, line)) = self.format_notice(notice) {
            self.log(level, &line);
        }
    }

    pub(crate) fn log(&mut self, level: ProgressLevel, line: &str) {
        if level <= self.level {
            self.log_always(line);
        }
    }

    /// Writes the line at every level.
    pub(crate) fn log_always(&mut self, line: &str) {
        let line = truncate_with_ellipsis(&to_single_line(line), LINE_MAX);
        // Without a reader it need not be written.
        let _ = self.output.write(format!("windlass: {line}\n"));
    }

    pub(crate) async fn finish(&mut self) {
        self.output.finish().await;
    }

    fn format_notice(&mut self, notice: &Notice) -> Option<(ProgressLevel, String)> {
        let verbose = |line: String| Some((ProgressLevel::Verbose, line));
        let unusual = |line: String| Some((ProgressLevel::Unusual, line));
        match notice {
            Notice::RequestStarted { model, turn, input_estimate, .. } => {
                let tokens = format_count(input_estimate.0);
                verbose(format!("turn {turn}: asking {model}, about {tokens} tokens"))
            }
            Notice::Continued { transition, turn } => {
                verbose(format!("continues with turn {turn}: {transition}"))
            }
            Notice::Billed { usage, cost, total, .. } => verbose(format!(
                "{} tokens in, {} out, {cost}; {total} so far",
                format_count(usage.input_total().0),
                format_count(usage.output.0)
            )),
            Notice::Retracted { why, .. } => {
                verbose(format!("the answer so far is discarded: {why}"))
            }
            Notice::Sealed { .. } => {
                verbose("the answer was cut; the finished part is kept".to_owned())
            }
            Notice::ToolStarted(call) => {
                self.calls.insert(call.id.clone(), call.name.to_string());
                verbose(summarize_tool_call(call, CALL_MAX))
            }
            Notice::ToolEnded { call, outcome } => {
                let name = self.calls.remove(call)?;
                verbose(format!("{name} {}", format_tool_outcome(outcome)))
            }
            Notice::ToolDenied { call, why } => {
                verbose(format!("denied: {}: {why}", summarize_tool_call(call, CALL_MAX)))
            }
            Notice::RetryScheduled { failure, attempt, attempts_max, wait } => {
                let is_long = wait.0 > LONG_WAIT_MILLIS;
                let level = if is_long { ProgressLevel::Unusual } else { ProgressLevel::Verbose };
                let wait = human_format::format_seconds(std::time::Duration::from_millis(wait.0));
                let (what, detail) = human_format::describe_failure(failure);
                let tries = format!("{attempt} of {attempts_max}");
                Some((level, format!("{what} ({detail}); trying again in {wait}, {tries}")))
            }
            Notice::ModelSwitched { from, to, why } => {
                unusual(format!("asking {to} instead of {from}: {why}"))
            }
            Notice::Repaired { why } => unusual(format!("the request was repaired: {why}")),
            Notice::ContextShrunk { level, freed, losses } => {
                unusual(format_context_shrunk(*level, *freed, losses))
            }
            Notice::HookMessage { point, name, text } => {
                unusual(format!("hook {name} at {point:?}: {text}"))
            }
            Notice::Warning(words) => unusual(words.clone()),
            // Shown whole in other ways, or nothing a line could add to.
            Notice::RunStarted
            | Notice::Hook(_)
            | Notice::Streamed { .. }
            | Notice::MessageAdded(_)
            | Notice::ToolProgressed { .. }
            | Notice::PermissionAsked { .. }
            | Notice::PermissionWithdrawn(_)
            | Notice::FilesChanged { .. }
            | Notice::ToolsLabelled(_)
            | Notice::SessionTitled(_)
            | Notice::PromptSuggested(_)
            | Notice::SideQuestionAnswered(_)
            | Notice::InputQueued(_)
            | Notice::SubagentNotice { .. }
            | Notice::MaxTurnsReached { .. }
            | Notice::AnswerStarted { .. }
            | Notice::RunEnded(_) => None,
        }
    }
}

fn format_context_shrunk(level: u8, freed: Tokens, losses: &[String]) -> String {
    let lost = match losses {
        [] => String::new(),
        losses => format!("; left out: {}", losses.join("; ")),
    };
    let freed = format_count(freed.0);
    format!("history was shortened (level {level}), about {freed} tokens freed{lost}")
}

fn format_tool_outcome(outcome: &ToolOutcome) -> String {
    let bytes: usize = outcome.content.iter().map(ToolResultPart::bytes).sum();
    let bytes = format_count(u64::try_from(bytes).unwrap_or(u64::MAX));
    let first = outcome.content.iter().find_map(|part| match part {
        ToolResultPart::Text(text) => text.lines().find(|line| !line.trim().is_empty()),
        ToolResultPart::Media(media) => Some(&*media.name),
    });
    let first = first.unwrap_or_default();
    match outcome.is_error {
        true => format!("failed: {first}"),
        false => format!("ended, {bytes} bytes: {first}"),
    }
}

/// A shorter wait is not reported.
const LONG_WAIT_MILLIS: u64 = 2_000;
const LINE_MAX: usize = 500;
const CALL_MAX: usize = 200;
