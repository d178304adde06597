//! `windlass why`: why a session went on, recovered, shrank, changed its model or stopped, in plain
//! words. Read off the replay; the words that the loop itself used then stand behind ours.

use serde_json::{Value, json};
use windlass_journal::clock::moment;
use windlass_journal::{Walked, walk};
use windlass_vocabulary::{Notice, Terminal, Transition};

use super::{fallback, meant};
use crate::args::WhyArgs;
use crate::environment::Lookup;
use crate::front::words::{count, money};
use crate::front::{call::shortened, harmless};
use crate::refusal::{Refusal, one_line};
use crate::session::unusable;

/// Something that has a reason.
#[derive(Debug)]
struct Reason {
    run: u32,
    turn: u32,
    at: u64,
    /// The kind, for programs.
    kind: &'static str,
    /// The name it has in the specification, if it has one.
    name: Option<&'static str>,
    words: String,
}

/// What to print.
pub(crate) fn run(args: &WhyArgs, lookup: &impl Lookup) -> Result<String, Refusal> {
    let journal = meant(args.session.as_deref(), lookup)?;
    let mut reasons: Vec<Reason> = Vec::new();
    let mut at = Place { run: 0, turn: 1 };
    walk(&journal, &fallback(), |walked| at.take(&walked, &mut reasons))
        .map_err(|error| unusable(&error))?;
    if let Some(turn) = args.turn {
        let last = reasons.iter().map(|reason| reason.run).max().unwrap_or(0);
        reasons.retain(|reason| reason.run == last && reason.turn == turn);
        if reasons.is_empty() {
            return Err(Refusal::usage(format!("the last run has no turn {turn}")));
        }
    }
    if args.json {
        let reasons: Vec<Value> = reasons.iter().map(object).collect();
        return Ok(format!("{}\n", json!({"reasons": reasons})));
    }
    Ok(match reasons.is_empty() {
        true => "Nothing was asked of a model yet.\n".to_owned(),
        false => reasons.iter().map(line).collect(),
    })
}

/// The last reasons of a session, in plain words.
pub(crate) fn lately(journal: &std::path::Path) -> Result<String, Refusal> {
    let session = Some(journal.to_string_lossy().into_owned());
    let args = WhyArgs { session, turn: None, json: false };
    let text = run(&args, &|name: &str| std::env::var_os(name))?;
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(LATELY_MAX);
    Ok(lines.get(from..).unwrap_or_default().join("\n"))
}

const LATELY_MAX: usize = 12;

/// Where the walk is.
struct Place {
    run: u32,
    turn: u32,
}

impl Place {
    fn take(&mut self, walked: &Walked, reasons: &mut Vec<Reason>) {
        for notice in &walked.notices {
            match notice {
                Notice::RunStarted => {
                    self.run += 1;
                    self.turn = 1;
                }
                Notice::Continued { turn, .. } => self.turn = (*turn).max(1),
                _ => {}
            }
            if let Some((kind, name, words)) = reason(notice) {
                reasons.push(self.reason(walked.at, kind, name, words));
            }
        }
        if let Some(ending) = &walked.ending {
            let words = format!("{} ({})", stopped(ending.terminal), one_line(&ending.why));
            let words = format!("{words}; {} so far", money(ending.cost));
            reasons.push(self.reason(walked.at, "stopped", Some(ending.terminal.name()), words));
        }
    }

    fn reason(
        &self,
        at: u64,
        kind: &'static str,
        name: Option<&'static str>,
        words: String,
    ) -> Reason {
        Reason { run: self.run.max(1), turn: self.turn, at, kind, name, words }
    }
}

/// The reason a notice gives, if it gives one.
fn reason(notice: &Notice) -> Option<(&'static str, Option<&'static str>, String)> {
    Some(match notice {
        Notice::Continued { transition, .. } => {
            ("continued", Some(transition.name()), continued(*transition).to_owned())
        }
        Notice::MessageAdded(message) if message.origin == windlass_vocabulary::Origin::User => {
            let words = shortened(&one_line(&message.text()), WORDS_MAX);
            ("asked", None, format!("Somebody said: {words}"))
        }
        Notice::ContextShrunk { level, freed, losses } => {
            let mut words =
                format!("{} About {} tokens were freed.", shrunk(*level), count(freed.0));
            if let Some(first) = losses.first() {
                words.push_str(&format!(" First of {}: {}", losses.len(), one_line(first)));
            }
            ("shrunk", None, words)
        }
        Notice::ModelSwitched { from, to, why } => {
            ("switched", None, format!("From {from} to {to}: {}", one_line(why)))
        }
        Notice::Waiting { failure, attempt, attempts_max, wait } => {
            let what = one_line(&failure.message);
            let words =
                format!("Waited {} ms, try {attempt} of {attempts_max}: {what}", count(wait.0));
            ("waited", None, words)
        }
        Notice::Repaired { why } => {
            ("repaired", None, format!("The request was repaired: {}", one_line(why)))
        }
        Notice::Retracted { why, .. } => (
            "retracted",
            None,
            format!("What was shown of an answer was taken back: {}", one_line(why)),
        ),
        Notice::ToolDenied { call, why } => {
            ("denied", None, format!("{} did not run: {}", call.name, one_line(why)))
        }
        _ => return None,
    })
}

/// Why the loop went round again: a sentence for each way.
fn continued(transition: Transition) -> &'static str {
    match transition {
        Transition::NextTurn => "Every call had its result, so the model was asked again.",
        Transition::CollapseDrainRetry => {
            "The prompt was too long. Everything that was set aside for that was left out, and the \
             same was asked again."
        }
        Transition::ReactiveCompactRetry => {
            "The prompt was too long or its media too large. History was made shorter, and the same \
             was asked again."
        }
        Transition::MaxOutputTokensEscalate => {
            "The answer was cut at the output limit. The limit was raised, and the same was asked \
             again."
        }
        Transition::MaxOutputTokensRecovery => {
            "The answer was cut at the raised output limit too. The model was asked to go on where it \
             stopped."
        }
        Transition::StopHookBlocking => {
            "The model wanted to stop, and a stop hook objected. Its objection was put to the model."
        }
        Transition::TokenBudgetContinuation => {
            "The model wanted to stop before the token budget was used. It was asked to go on."
        }
    }
}

/// Why a run stopped: a sentence for each way.
fn stopped(terminal: Terminal) -> &'static str {
    match terminal {
        Terminal::Completed => "The model had nothing more to do.",
        Terminal::BlockingLimit => {
            "The next request would not have fitted, and nothing could shrink."
        }
        Terminal::PromptTooLong => {
            "The prompt was too long, and everything against that was tried."
        }
        Terminal::ImageError => "An image or a document could not be used.",
        Terminal::ModelError => "The model's server failed for good.",
        Terminal::AbortedStreaming => "It was interrupted while the model answered.",
        Terminal::AbortedTools => "It was interrupted while tools ran.",
        Terminal::StopHookPrevented => "A stop hook ended the run.",
        Terminal::HookStopped => "A hook of a tool, or the guard against circles, ended the run.",
        Terminal::MaxTurns => "The limit of turns was reached.",
        Terminal::MaxBudgetUsd => "The limit of money was reached.",
    }
}

/// What made the window emptier: a sentence for each level.
fn shrunk(level: u8) -> &'static str {
    match level {
        1 => "Results that were too long were shortened and kept on disk.",
        2 => "The oldest turns were left out.",
        3 => "Old results were shortened.",
        4 => "Parts of history were folded to a line each.",
        _ => "History was summarised, because the window was getting full.",
    }
}

fn line(reason: &Reason) -> String {
    let Reason { run, turn, at, kind, name, words } = reason;
    let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
    format!("run {run}, turn {turn} · {} · {kind}{name}\n    {}\n", moment(*at), harmless(words))
}

fn object(reason: &Reason) -> Value {
    json!({
        "run": reason.run,
        "turn": reason.turn,
        "at": moment(reason.at),
        "kind": reason.kind,
        "name": reason.name,
        "words": reason.words,
    })
}

const WORDS_MAX: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_reason_has_a_sentence_of_its_own() {
        let all = Transition::ALL.iter().map(|one| continued(*one));
        let all =
            all.chain(Terminal::ALL.iter().map(|one| stopped(*one))).chain((1..=5).map(shrunk));
        let all: Vec<&str> = all.collect();
        assert_eq!(all.len(), 7 + 11 + 5);
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        assert!(all.iter().all(|words| words.ends_with('.') && words.len() > 20));
    }
}
