//! Plays the script: tracks used answers and logged requests.
//!
//! Implements the order: the first answer in the script that is not used up and whose conditions
//! all hold.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use windlass_vocabulary::RequestSource;

use super::request_log::{ReceivedRequest, RequestLog};
use crate::lock::lock;
use crate::script::{AnswerContent, Script, ScriptedAnswer};
use crate::wire::IncomingModelRequest;

/// The state of a script that is being played.
#[derive(Debug)]
pub struct ScriptPlayer {
    script: Script,
    state: Mutex<ScriptPlayerState>,
    /// The number of logged requests, for callers that wait in a runtime …
    logged_count: watch::Sender<usize>,
    /// … and the signal for callers that wait on a thread.
    request_logged: Condvar,
}

#[derive(Debug, Default)]
struct ScriptPlayerState {
    /// How often each answer was used.
    used: Vec<u32>,
    answers_given: u64,
    received: usize,
    /// Requests that can be inspected.
    logged: usize,
    log: RequestLog,
}

/// An answer chosen for a request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ChosenAnswer {
    /// Its index in the script, counted from 1.
    pub(super) position: usize,
    /// The number of the answer given, counted from 1.
    pub(super) number: u64,
    pub(super) answer: ScriptedAnswer,
}

impl ScriptPlayer {
    pub(super) fn new(script: Script) -> Self {
        let used = vec![0; script.answers.len()];
        let state = Mutex::new(ScriptPlayerState { used, ..ScriptPlayerState::default() });
        Self { script, state, logged_count: watch::Sender::new(0), request_logged: Condvar::new() }
    }

    pub(super) fn script(&self) -> &Script {
        &self.script
    }

    pub(super) fn next_request_number(&self) -> usize {
        let mut state = lock(&self.state);
        state.received += 1;
        state.received
    }

    pub(super) fn log_request(&self, recorded: ReceivedRequest) {
        let mut state = lock(&self.state);
        state.log.add(recorded);
        state.logged += 1;
        self.logged_count.send_replace(state.logged);
        self.request_logged.notify_all();
    }

    /// Selects an answer and counts its use.
    pub(super) fn choose_answer(
        &self,
        incoming: &IncomingModelRequest,
        source: Option<RequestSource>,
    ) -> Option<ChosenAnswer> {
        let mut state = lock(&self.state);
        let answers = self.script.answers.iter();
        let (index, answer) = answers.enumerate().find(|(index, answer)| {
            is_unused(answer, state.used.get(*index))
                && matches_conditions(answer, incoming, source)
        })?;
        if let Some(used) = state.used.get_mut(index) {
            *used = used.saturating_add(1);
        }
        state.answers_given += 1;
        let mut answer = answer.clone();
        if let Some(part) = answer.when.clone() {
            let rest = text_after_match(&incoming.new_text, &part);
            answer.fill_placeholder("{{rest}}", rest);
            answer.fill_placeholder("{{word}}", first_word(rest));
        }
        Some(ChosenAnswer { position: index + 1, number: state.answers_given, answer })
    }

    pub(super) fn describe_unused_answers(&self) -> Vec<String> {
        let state = lock(&self.state);
        let answers = self.script.answers.iter().enumerate();
        answers
            .filter(|(index, answer)| {
                // An answer without limit is never used up, but counts as used after its first use.
                let used = state.used.get(*index);
                is_unused(answer, used)
                    && !(answer.repeat == 0 && used.is_some_and(|used| *used > 0))
            })
            .map(|(index, answer)| format!("answer {}{}", index + 1, describe_answer(answer)))
            .collect()
    }

    pub(super) fn requests(&self) -> Vec<ReceivedRequest> {
        lock(&self.state).log.to_vec()
    }

    pub(super) fn request_count(&self) -> usize {
        lock(&self.state).received
    }

    pub(super) fn subscribe_request_count(&self) -> watch::Receiver<usize> {
        self.logged_count.subscribe()
    }

    pub(super) fn wait_for_requests(&self, count: usize, within: Duration) -> bool {
        let too_few = |state: &mut ScriptPlayerState| state.logged < count;
        let waited = self.request_logged.wait_timeout_while(lock(&self.state), within, too_few);
        let (_state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
        !waited.timed_out()
    }
}

fn is_unused(answer: &ScriptedAnswer, used: Option<&u32>) -> bool {
    answer.repeat == 0 || used.is_none_or(|used| *used < answer.repeat)
}

fn matches_conditions(
    answer: &ScriptedAnswer,
    incoming: &IncomingModelRequest,
    source: Option<RequestSource>,
) -> bool {
    let within = |part: &Option<String>, text: &str| {
        part.as_ref().is_none_or(|part| text.contains(part.as_str()))
    };
    let has_result = answer.when_result.is_none() || !incoming.tool_results.is_empty();
    within(&answer.when, &incoming.new_text)
        && has_result
        && within(&answer.when_result, &incoming.tool_results)
        && within(&answer.when_model, &incoming.model)
        && answer.when_tool.as_ref().is_none_or(|tool| incoming.tool_names.contains(tool))
        && answer.when_source.is_none_or(|wanted| source == Some(wanted))
}

/// The rest of the line after these words.
fn text_after_match<'a>(text: &'a str, part: &str) -> &'a str {
    let behind = text.split_once(part).map_or("", |(_, behind)| behind);
    behind.lines().next().unwrap_or("").trim()
}

/// Its first word, without surrounding punctuation.
fn first_word(rest: &str) -> &str {
    let around = |letter: char| matches!(letter, '"' | '\'' | '`' | ',' | '.' | ':');
    rest.split_whitespace().next().unwrap_or("").trim_matches(around)
}

/// Describes the condition and the beginning of an answer.
fn describe_answer(answer: &ScriptedAnswer) -> String {
    let mut description = String::new();
    for (name, part) in [
        ("when", &answer.when),
        ("when_result", &answer.when_result),
        ("when_model", &answer.when_model),
        ("when_tool", &answer.when_tool),
    ] {
        if let Some(part) = part {
            description.push_str(&format!(" {name} {:?}", shorten(part)));
        }
    }
    if let Some(source) = answer.when_source {
        description.push_str(&format!(" when_source {source:?}"));
    }
    match &answer.content {
        AnswerContent::Blocks { text, .. } if !text.is_empty() => {
            description.push_str(&format!(" says {:?}", shorten(text)));
        }
        AnswerContent::Blocks { tools, .. } => {
            if let Some(tool) = tools.first() {
                description.push_str(&format!(" calls {}", tool.name));
            }
        }
        AnswerContent::Raw(_) => description.push_str(" sends a raw stream"),
    }
    description
}

/// The first characters of a text.
pub(crate) fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(SHORT_CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

const SHORT_CHARS: usize = 60;
