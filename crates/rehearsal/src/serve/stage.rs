//! The script while it is played: which answers are used up, what was asked so far.
//!
//! The order rule lives here: the first answer, in the order of the script, that is not used up and
//! whose conditions all hold.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use windlass_vocabulary::Source;

use super::record::{Record, Recorded};
use crate::script::{Answer, Script, Speech};
use crate::wire::Asked;

/// The script while it is played.
#[derive(Debug)]
pub(super) struct Stage {
    script: Script,
    state: Mutex<State>,
    /// The number of requests, for those who wait in a runtime …
    count: watch::Sender<usize>,
    /// … and a bell for those who wait on a thread.
    bell: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// How often each answer was used.
    used: Vec<u32>,
    /// Answers given in all.
    given: u64,
    /// Requests in all.
    seen: usize,
    /// Requests recorded, which is what people wait for: they want to look at them.
    kept: usize,
    record: Record,
}

/// An answer chosen for a request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cue {
    /// Its place in the script, counted from 1.
    pub(super) place: usize,
    /// Counts the answers given; the first is 1.
    pub(super) number: u64,
    pub(super) answer: Answer,
}

impl Stage {
    pub(super) fn new(script: Script) -> Self {
        let used = vec![0; script.answers.len()];
        let state = Mutex::new(State { used, ..State::default() });
        Self { script, state, count: watch::Sender::new(0), bell: Condvar::new() }
    }

    pub(super) fn script(&self) -> &Script {
        &self.script
    }

    /// The next request's number.
    pub(super) fn arrive(&self) -> usize {
        let mut state = self.state();
        state.seen += 1;
        state.seen
    }

    /// Keeps a request.
    pub(super) fn keep(&self, recorded: Recorded) {
        let mut state = self.state();
        state.record.add(recorded);
        state.kept += 1;
        self.count.send_replace(state.kept);
        self.bell.notify_all();
    }

    /// Chooses an answer, and uses it up by one.
    pub(super) fn choose(&self, asked: &Asked, source: Option<Source>) -> Option<Cue> {
        let mut state = self.state();
        let answers = self.script.answers.iter();
        let (index, answer) = answers.enumerate().find(|(index, answer)| {
            is_left(answer, state.used.get(*index)) && holds(answer, asked, source)
        })?;
        if let Some(used) = state.used.get_mut(index) {
            *used = used.saturating_add(1);
        }
        state.given += 1;
        let mut answer = answer.clone();
        if let Some(part) = answer.when.clone() {
            let rest = rest(&asked.said, &part);
            answer.fill("{{rest}}", rest);
            answer.fill("{{word}}", word(rest));
        }
        Some(Cue { place: index + 1, number: state.given, answer })
    }

    /// The answers not used up, for people.
    pub(super) fn answers_left(&self) -> Vec<String> {
        let state = self.state();
        let answers = self.script.answers.iter().enumerate();
        answers
            .filter(|(index, answer)| {
                // An answer for ever is never used up, but once used it is not owed either.
                let used = state.used.get(*index);
                is_left(answer, used) && !(answer.repeat == 0 && used.is_some_and(|used| *used > 0))
            })
            .map(|(index, answer)| format!("answer {}{}", index + 1, described(answer)))
            .collect()
    }

    pub(super) fn requests(&self) -> Vec<Recorded> {
        self.state().record.all()
    }

    pub(super) fn request_count(&self) -> usize {
        self.state().seen
    }

    pub(super) fn counted(&self) -> watch::Receiver<usize> {
        self.count.subscribe()
    }

    pub(super) fn wait_for_requests(&self, count: usize, within: Duration) -> bool {
        let too_few = |state: &mut State| state.kept < count;
        let waited = self.bell.wait_timeout_while(self.state(), within, too_few);
        let (_state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        !waited.timed_out()
    }

    /// The state is consistent after every statement, so a panic elsewhere cannot have spoilt it.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_left(answer: &Answer, used: Option<&u32>) -> bool {
    answer.repeat == 0 || used.is_none_or(|used| *used < answer.repeat)
}

fn holds(answer: &Answer, asked: &Asked, source: Option<Source>) -> bool {
    let within = |part: &Option<String>, text: &str| {
        part.as_ref().is_none_or(|part| text.contains(part.as_str()))
    };
    let has_result = answer.when_result.is_none() || !asked.results.is_empty();
    within(&answer.when, &asked.said)
        && has_result
        && within(&answer.when_result, &asked.results)
        && within(&answer.when_model, &asked.model)
        && answer.when_tool.as_ref().is_none_or(|tool| asked.tools.contains(tool))
        && answer.when_source.is_none_or(|wanted| source == Some(wanted))
}

/// What stands behind these words in their line.
fn rest<'a>(said: &'a str, part: &str) -> &'a str {
    let behind = said.split_once(part).map_or("", |(_, behind)| behind);
    behind.lines().next().unwrap_or("").trim()
}

/// Its first word, without what is put around words and behind them.
fn word(rest: &str) -> &str {
    let around = |letter: char| matches!(letter, '"' | '\'' | '`' | ',' | '.' | ':');
    rest.split_whitespace().next().unwrap_or("").trim_matches(around)
}

/// What an answer waits for and how it begins, in few words.
fn described(answer: &Answer) -> String {
    let mut words = String::new();
    for (name, part) in [
        ("when", &answer.when),
        ("when_result", &answer.when_result),
        ("when_model", &answer.when_model),
        ("when_tool", &answer.when_tool),
    ] {
        if let Some(part) = part {
            words.push_str(&format!(" {name} {:?}", shortened(part)));
        }
    }
    if let Some(source) = answer.when_source {
        words.push_str(&format!(" when_source {source:?}"));
    }
    match &answer.speech {
        Speech::Blocks { text, .. } if !text.is_empty() => {
            words.push_str(&format!(" says {:?}", shortened(text)));
        }
        Speech::Blocks { tools, .. } => {
            if let Some(tool) = tools.first() {
                words.push_str(&format!(" calls {}", tool.name));
            }
        }
        Speech::Raw(_) => words.push_str(" sends a raw stream"),
    }
    words
}

/// The first characters of a text.
pub(crate) fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(SHORT).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

const SHORT: usize = 60;
