//! `windlass why`: explains why a session continued, recovered, compacted, changed its model or
//! stopped. Taken from a replay of the journal.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use windlass_journal::conversation::find_own_words;
use windlass_journal::{ExplainedStep, explain_journal};
use windlass_vocabulary::format_timestamp;
use windlass_vocabulary::notice::RunEnding;
use windlass_vocabulary::{Notice, Outcome, RecoveryAction, Terminal, Transition};

use crate::session::journal_error;
use crate::session::rewind_point::fallback_settings;
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::display::human_format::{format_count, format_money, format_seconds};
use windlass_host::display::strip_control_characters;
use windlass_host::display::text_table::format_time_ago;
use windlass_host::display::tool_call_summary::truncate_with_ellipsis;

#[derive(Debug)]
struct RunReason {
    run: u32,
    turn: u32,
    at: u64,
    explanation: Explanation,
}

#[derive(Debug)]
struct Explanation {
    kind: &'static str,
    /// The name it has in the specification, if it has one.
    name: Option<&'static str>,
    words: String,
}

impl Explanation {
    fn new(kind: &'static str, words: String) -> Self {
        Self { kind, name: None, words }
    }
}

pub fn render_reasons(
    journal: &Path,
    turn: Option<u32>,
    is_json: bool,
) -> Result<String, CommandError> {
    let mut reasons: Vec<RunReason> = Vec::new();
    let mut at = WalkPosition { run: 0, turn: 1 };
    explain_journal(journal, &fallback_settings(), |walked| {
        at.collect_reasons(&walked, &mut reasons);
    })
    .map_err(|error| journal_error(&error))?;
    if let Some(turn) = turn {
        let last = reasons.iter().map(|reason| reason.run).max().unwrap_or(0);
        reasons.retain(|reason| reason.run == last && reason.turn == turn);
        if reasons.is_empty() {
            return Err(CommandError::usage(format!("the last run has no turn {turn}")));
        }
    }
    if is_json {
        let reasons: Vec<Value> = reasons.iter().map(reason_to_json).collect();
        return Ok(format!("{}\n", json!({"reasons": reasons})));
    }
    Ok(match reasons.is_empty() {
        true => "No model has been asked yet.\n".to_owned(),
        false => reasons.iter().map(render_reason).collect(),
    })
}

pub fn render_recent_reasons(journal: &Path) -> Result<String, CommandError> {
    let text = render_reasons(journal, None, false)?;
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(RECENT_LINES_MAX);
    Ok(lines.get(from..).unwrap_or_default().join("\n"))
}

const RECENT_LINES_MAX: usize = 12;

struct WalkPosition {
    run: u32,
    turn: u32,
}

impl WalkPosition {
    fn collect_reasons(&mut self, walked: &ExplainedStep, reasons: &mut Vec<RunReason>) {
        let is_by_hand = walked.ending.as_ref().is_some_and(|ending| {
            matches!(ending.outcome, Some(Outcome::Compacted | Outcome::NotCompacted))
        });
        for notice in &walked.notices {
            if matches!(notice, Notice::RunStarted) {
                self.run += 1;
                self.turn = 1;
            }
            if let Notice::Continued { turn, .. } = notice {
                self.turn = (*turn).max(1);
            }
            if let Some(explanation) = explain_notice(notice, is_by_hand) {
                reasons.push(self.build_reason(walked.at, explanation));
            }
        }
        if let Some(ending) = &walked.ending {
            let reason = match ending.outcome {
                Some(Outcome::Compacted) => {
                    "You asked to compact the conversation, and it was compacted."
                }
                Some(Outcome::NotCompacted) => {
                    "You asked to compact the conversation, but there was too little to summarise."
                }
                Some(
                    Outcome::Natural
                    | Outcome::Empty
                    | Outcome::Refusal
                    | Outcome::OutputLimitExhausted
                    | Outcome::PausesExhausted
                    | Outcome::Circled
                    | Outcome::ToolDeferred
                    | Outcome::StorageFailed,
                )
                | None => describe_ending(ending),
            };
            // The sentence already says it, unless something special happened.
            let is_plain = ending.terminal.is_abort()
                || matches!(
                    ending.outcome,
                    Some(Outcome::Natural | Outcome::Compacted | Outcome::NotCompacted)
                );
            let detail = match is_plain {
                true => String::new(),
                false => format!(" ({})", to_single_line(&ending.why)),
            };
            let words = format!("{reason}{detail} {} so far.", format_money(ending.cost));
            let name = Some(ending.terminal.name());
            let explanation = Explanation { name, ..Explanation::new("stopped", words) };
            reasons.push(self.build_reason(walked.at, explanation));
        }
    }

    fn build_reason(&self, at: u64, explanation: Explanation) -> RunReason {
        RunReason { run: self.run.max(1), turn: self.turn, at, explanation }
    }
}

/// `is_by_hand`: the user requested the compaction.
fn explain_notice(notice: &Notice, is_by_hand: bool) -> Option<Explanation> {
    Some(match notice {
        Notice::Continued { transition, .. } => {
            let words = describe_transition(*transition).to_owned();
            Explanation { name: Some(transition.name()), ..Explanation::new("continued", words) }
        }
        Notice::MessageAdded(message)
            if message.origin == windlass_vocabulary::MessageOrigin::User =>
        {
            let words = truncate_with_ellipsis(
                &to_single_line(&find_own_words(&message.content)),
                WORDS_MAX,
            );
            Explanation::new("asked", format!("You: {words}"))
        }
        Notice::ContextShrunk { level, freed, losses } => {
            let what = match is_by_hand {
                true => "The history was summarised because you asked for it.",
                false => describe_context_level(*level),
            };
            let mut words = format!("{what} About {} tokens were freed.", format_count(freed.0));
            if let Some(first) = losses.first() {
                words.push_str(&format!(" First of {}: {}", losses.len(), to_single_line(first)));
            }
            Explanation::new("shrunk", words)
        }
        Notice::ModelSwitched { from, to, why } => {
            Explanation::new("switched", format!("From {from} to {to}: {}", to_single_line(why)))
        }
        Notice::RetryScheduled { failure, attempt, attempts_max, wait } => {
            let what = to_single_line(&failure.message);
            let words = format!(
                "Waited {} before retry {attempt} of {attempts_max}: {what}",
                format_seconds(Duration::from_millis(wait.0))
            );
            Explanation::new("waited", words)
        }
        Notice::Repaired { why } => Explanation::new(
            "repaired",
            format!("The request was repaired: {}", to_single_line(why)),
        ),
        Notice::Retracted { why, .. } => Explanation::new(
            "retracted",
            format!("A partial answer was discarded: {}", to_single_line(why)),
        ),
        Notice::ToolDenied { call, why } => Explanation::new(
            "denied",
            format!("{} did not run: {}", call.name, to_single_line(why)),
        ),
        Notice::RunStarted
        | Notice::RequestStarted { .. }
        | Notice::Streamed { .. }
        | Notice::AnswerStarted { .. }
        | Notice::Sealed { .. }
        | Notice::MessageAdded(_)
        | Notice::ToolStarted(_)
        | Notice::ToolProgressed { .. }
        | Notice::ToolEnded { .. }
        | Notice::PermissionAsked { .. }
        | Notice::PermissionWithdrawn(_)
        | Notice::HookMessage { .. }
        | Notice::Hook(_)
        | Notice::FilesChanged { .. }
        | Notice::ToolsLabelled(_)
        | Notice::SessionTitled(_)
        | Notice::PromptSuggested(_)
        | Notice::SideQuestionAnswered(_)
        | Notice::InputQueued(_)
        | Notice::Billed { .. }
        | Notice::Warning(_)
        | Notice::MaxTurnsReached { .. }
        | Notice::SubagentNotice { .. }
        | Notice::RunEnded(_) => return None,
    })
}

/// Why the loop went round again: a sentence for each way.
pub fn describe_transition(transition: Transition) -> &'static str {
    match transition {
        Transition::NextTurn => "All tool calls had results, so the model was asked again.",
        Transition::CollapseDrainRetry => {
            "The prompt was too long. Old steps that were marked for it were collapsed, and the request \
             was sent again."
        }
        Transition::ReactiveCompactRetry => {
            "The prompt was too long or its media too large. The history was shortened, and the request \
             was sent again."
        }
        Transition::MaxOutputTokensEscalate => {
            "The answer was cut at the output limit. The limit was raised, and the request was sent \
             again."
        }
        Transition::MaxOutputTokensRecovery => {
            "The answer was cut at the raised output limit, too. The model was asked to continue where \
             it stopped."
        }
        Transition::StopHookBlocking => {
            "The model wanted to stop, but a stop hook objected. The model was told why."
        }
        Transition::TokenBudgetContinuation => {
            "The model wanted to stop before the token budget was used up. It was asked to continue."
        }
    }
}

/// Why this run stopped. A request that the server refuses is not sent again.
fn describe_ending(ending: &RunEnding) -> &'static str {
    let is_refused = ending.failure.as_ref().is_some_and(|failure| {
        matches!(
            failure.kind.recovery_action(),
            RecoveryAction::Stop | RecoveryAction::Switch | RecoveryAction::Repair
        )
    });
    match ending.terminal == Terminal::ModelError && is_refused {
        true => "The model server refused the request.",
        false => describe_terminal(ending.terminal),
    }
}

/// Why a run stopped: a sentence for each way.
pub fn describe_terminal(terminal: Terminal) -> &'static str {
    match terminal {
        Terminal::Completed => "The model had nothing more to do.",
        Terminal::BlockingLimit => {
            "The next request did not fit the context window, and nothing could be shortened."
        }
        Terminal::PromptTooLong => "The prompt was too long, even after everything was shortened.",
        Terminal::ImageError => "An image or a document could not be used.",
        Terminal::ModelError => "The model server kept failing; gave up.",
        Terminal::AbortedStreaming => "Interrupted while the model answered.",
        Terminal::AbortedTools => "Interrupted while tools ran.",
        Terminal::StopHookPrevented => "A stop hook ended the run.",
        Terminal::HookStopped => "A tool hook, or the guard against circles, ended the run.",
        Terminal::MaxTurns => "The turn limit was reached.",
        Terminal::MaxBudgetUsd => "The budget was used up.",
    }
}

/// What made the window emptier: a sentence for each level.
pub fn describe_context_level(level: u8) -> &'static str {
    match level {
        1 => "Long results were shortened; the full text is on disk.",
        2 => "The oldest turns were dropped.",
        3 => "Old results were shortened.",
        4 => "Parts of the history were collapsed to a line each.",
        _ => "The history was summarised because the context window was getting full.",
    }
}

fn render_reason(reason: &RunReason) -> String {
    let RunReason { run, turn, at, explanation: Explanation { kind, name, words } } = reason;
    let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
    format!(
        "run {run}, turn {turn} · {} · {kind}{name}\n    {}\n",
        format_time_ago(*at),
        strip_control_characters(words)
    )
}

fn reason_to_json(reason: &RunReason) -> Value {
    json!({
        "run": reason.run,
        "turn": reason.turn,
        "at": format_timestamp(reason.at),
        "kind": reason.explanation.kind,
        "name": reason.explanation.name,
        "words": reason.explanation.words,
    })
}

const WORDS_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_reason_has_a_sentence_of_its_own() {
        let all = Transition::ALL.iter().map(|one| describe_transition(*one));
        let all = all
            .chain(Terminal::ALL.iter().map(|one| describe_terminal(*one)))
            .chain((1..=5).map(describe_context_level));
        let all: Vec<&str> = all.collect();
        assert_eq!(all.len(), 7 + 11 + 5);
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert!(all.iter().all(|words| words.ends_with('.') && words.len() > 20));
    }
}
