//! What is told on standard error while a run goes on, and when.
//!
//! A clean run that nobody watches says nothing. A person at a terminal hears of what would puzzle
//! them: long waits, another model, something left out, history made shorter. `--verbose` tells
//! everything, one line each.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::IsTerminal;

use windlass_vocabulary::{Notice, ResultPart, ToolCallId, ToolOutcome};

use super::call::{described, shortened};
use super::output::{Output, Target};
use super::words::{self, count};
use crate::refusal::one_line;

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// Nothing.
    Nothing,
    /// What would puzzle a person who watches.
    Puzzling,
    /// Everything.
    Everything,
}

/// The lines on standard error.
#[derive(Debug)]
pub(crate) struct Progress {
    level: Level,
    output: Output,
    /// Calls under way, to name them when they end.
    calls: BTreeMap<ToolCallId, String>,
}

impl Progress {
    /// As much as was asked for, or as a terminal deserves.
    pub(crate) fn new(verbose: bool) -> Self {
        let level = match verbose {
            true => Level::Everything,
            false if std::io::stderr().is_terminal() => Level::Puzzling,
            false => Level::Nothing,
        };
        Self { level, output: Output::new(Target::Stderr), calls: BTreeMap::new() }
    }

    /// Everything, into a file.
    pub(crate) fn into_file(file: File) -> Self {
        let output = Output::into_file(file);
        Self { level: Level::Everything, output, calls: BTreeMap::new() }
    }

    /// Tells what is worth telling.
    pub(crate) fn notice(&mut self, notice: &Notice) {
        if self.level == Level::Nothing {
            return;
        }
        if let Some((level, line)) = self.line(notice) {
            self.say(level, &line);
        }
    }

    /// Tells one line to those who want to hear that much.
    pub(crate) fn say(&mut self, level: Level, line: &str) {
        if level <= self.level {
            self.insist(line);
        }
    }

    /// Tells one line whether or not somebody watches.
    pub(crate) fn insist(&mut self, line: &str) {
        let line = shortened(&one_line(line), LINE_MAX);
        // If nobody reads it, it need not be written.
        let _ = self.output.write(format!("windlass: {line}\n"));
    }

    /// Waits until everything is written.
    pub(crate) async fn finish(&mut self) {
        self.output.finish().await;
    }

    fn line(&mut self, notice: &Notice) -> Option<(Level, String)> {
        match notice {
            Notice::RequestStarted { .. }
            | Notice::Continued { .. }
            | Notice::Billed { .. }
            | Notice::Retracted { .. }
            | Notice::Sealed { .. } => model(notice).map(|line| (Level::Everything, line)),
            Notice::ToolStarted(_) | Notice::ToolEnded { .. } | Notice::ToolDenied { .. } => {
                self.tool(notice).map(|line| (Level::Everything, line))
            }
            Notice::Waiting { wait, .. } => {
                let is_long = wait.0 > WAIT_TOLD_MILLIS;
                let level = if is_long { Level::Puzzling } else { Level::Everything };
                model(notice).map(|line| (level, line))
            }
            Notice::ModelSwitched { .. }
            | Notice::Repaired { .. }
            | Notice::ContextShrunk { .. }
            | Notice::HookSpoke { .. }
            | Notice::Warning(_) => puzzling(notice).map(|line| (Level::Puzzling, line)),
            // Shown whole in other ways, or nothing a line could add to.
            Notice::RunStarted
            | Notice::Hook(_)
            | Notice::Streamed { .. }
            | Notice::MessageAdded(_)
            | Notice::ToolProgressed { .. }
            | Notice::PermissionAsked { .. }
            | Notice::PermissionWithdrawn(_)
            | Notice::ToolsLabelled(_)
            | Notice::Titled(_)
            | Notice::Suggested(_)
            | Notice::QuestionAnswered(_)
            | Notice::InputQueued(_)
            | Notice::Nested { .. }
            | Notice::MaxTurnsReached { .. }
            | Notice::RunEnded(_) => None,
        }
    }

    fn tool(&mut self, notice: &Notice) -> Option<String> {
        match notice {
            Notice::ToolStarted(call) => {
                let line = described(call, CALL_MAX);
                self.calls.insert(call.id.clone(), call.name.to_string());
                Some(line)
            }
            Notice::ToolEnded { call, outcome } => {
                let name = self.calls.remove(call)?;
                Some(format!("{name} {}", ended(outcome)))
            }
            Notice::ToolDenied { call, why } => {
                Some(format!("denied: {}: {why}", described(call, CALL_MAX)))
            }
            _ => None,
        }
    }
}

fn ended(outcome: &ToolOutcome) -> String {
    let bytes: usize = outcome.content.iter().map(ResultPart::bytes).sum();
    let bytes = count(u64::try_from(bytes).unwrap_or(u64::MAX));
    let first = outcome.content.iter().find_map(|part| match part {
        ResultPart::Text(text) => text.lines().find(|line| !line.trim().is_empty()),
        ResultPart::Media(media) => Some(&*media.name),
    });
    let first = first.unwrap_or_default();
    match outcome.is_error {
        true => format!("failed: {first}"),
        false => format!("ended, {bytes} bytes: {first}"),
    }
}

fn model(notice: &Notice) -> Option<String> {
    Some(match notice {
        Notice::RequestStarted { model, turn, input_estimate, .. } => {
            format!("turn {turn}: asking {model}, about {} tokens", count(input_estimate.0))
        }
        Notice::Waiting { failure, attempt, attempts_max, wait } => {
            let wait = words::seconds(std::time::Duration::from_millis(wait.0));
            let (what, said) = words::told(failure);
            format!("{what} ({said}); trying again in {wait}, {attempt} of {attempts_max}")
        }
        Notice::Continued { transition, turn } => format!("goes on with turn {turn}: {transition}"),
        Notice::Billed { usage, cost, total, .. } => format!(
            "{} tokens in, {} out, {cost}; {total} so far",
            count(usage.input_total().0),
            count(usage.output.0)
        ),
        Notice::Retracted { why, .. } => format!("the answer so far is void: {why}"),
        Notice::Sealed { .. } => "the answer was cut; what was whole is kept".to_owned(),
        _ => return None,
    })
}

fn puzzling(notice: &Notice) -> Option<String> {
    Some(match notice {
        Notice::ModelSwitched { from, to, why } => format!("asking {to} instead of {from}: {why}"),
        Notice::Repaired { why } => format!("the request was repaired: {why}"),
        Notice::ContextShrunk { level, freed, losses } => {
            let lost = match losses.as_slice() {
                [] => String::new(),
                losses => format!("; left out: {}", losses.join("; ")),
            };
            let freed = count(freed.0);
            format!("history was made shorter (level {level}), about {freed} tokens freed{lost}")
        }
        Notice::HookSpoke { point, name, text } => format!("hook {name} at {point:?}: {text}"),
        Notice::Warning(words) => words.clone(),
        _ => return None,
    })
}

/// A shorter wait is not worth a word.
const WAIT_TOLD_MILLIS: u64 = 2_000;
const LINE_MAX: usize = 500;
const CALL_MAX: usize = 200;
