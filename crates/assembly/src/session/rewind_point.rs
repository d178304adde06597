//! Finds the record to rewind to, and checks that the dropped messages are those the user meant.
//! Changes nothing.

use std::path::Path;

use windlass_driver::engine_settings::Settings;
use windlass_journal::transcript::{self, ImportedConversation, TracedMessage};
use windlass_vocabulary::MessageOrigin;

use super::journal_error;
use windlass_driver::rewind::RewindPoint;
use windlass_host::command_error::{CommandError, to_single_line};
use windlass_host::display::tool_call_summary::truncate_with_ellipsis;
use windlass_journal::SnapshotStore;
use windlass_provider::config::model::ModelConfig;

/// Every message of a session, with its place in the journal.
pub fn trace_messages(journal: &Path, id: &str) -> Result<Vec<TracedMessage>, CommandError> {
    transcript::trace_messages(journal, id, &fallback_settings())
        .map_err(|error| journal_error(&error))
}

/// Settings for journals that do not say under which they were decided.
pub fn fallback_settings() -> Settings {
    Settings::new(ModelConfig::default().to_model_facts("unknown"))
}

/// What a session goes back to.
#[derive(Clone, Debug)]
pub(crate) struct RewindTarget {
    pub(crate) point: RewindPoint,
    /// Its name in the transcript.
    pub(crate) name: String,
    /// The number of a prompt; a call has none.
    pub(crate) number: Option<usize>,
}

impl RewindTarget {
    fn from_prompt(number: usize, prompt: &TracedMessage) -> Self {
        let name = prompt.uuids.first().cloned().unwrap_or_default();
        Self { point: RewindPoint::before_message(prompt), name, number: Some(number) }
    }

    pub(crate) fn describe(&self) -> String {
        match self.number {
            Some(number) => {
                let text = to_single_line(&self.point.text);
                format!("prompt {number}: {}", truncate_with_ellipsis(&text, PROMPT_CHARS_MAX))
            }
            None => self.point.text.clone(),
        }
    }
}

/// What is called this: a prompt by its number or the beginning of its name in the transcript, or a
/// call by its id.
pub(crate) fn find_target(
    messages: &[TracedMessage],
    kept: &SnapshotStore,
    to: &str,
) -> Result<RewindTarget, CommandError> {
    let numbered = || (1..).zip(messages.iter().filter(|traced| traced.is_prompt));
    let number = to.parse::<usize>().ok();
    if let Some((number, prompt)) = numbered().find(|(place, _)| Some(*place) == number) {
        return Ok(RewindTarget::from_prompt(number, prompt));
    }
    if let Some(point) = find_call(messages, kept, to) {
        return Ok(RewindTarget { point, name: to.to_owned(), number: None });
    }
    let is_named = |traced: &TracedMessage| traced.uuids.iter().any(|own| own.starts_with(to));
    let found: Vec<(usize, &TracedMessage)> = numbered().filter(|(_, it)| is_named(it)).collect();
    match found.as_slice() {
        [(number, prompt)] => Ok(RewindTarget::from_prompt(*number, prompt)),
        [] => Err(CommandError::usage(format!(
            "there is no prompt or call `{to}`; /rewind and `windlass rewind` list the prompts"
        ))),
        _ => {
            Err(CommandError::usage(format!("several prompts are called `{to}`; give more of it")))
        }
    }
}

fn find_call(messages: &[TracedMessage], kept: &SnapshotStore, id: &str) -> Option<RewindPoint> {
    let is_call = messages.iter().any(|traced| traced.calls.iter().any(|own| own.as_str() == id));
    is_call.then(|| RewindPoint::find(messages, kept, id)).flatten()
}

/// The last record to keep, if this message is to be the last.
pub(super) fn find_last_record(
    journal: &Path,
    id: &str,
    last: &str,
    drops: Option<&str>,
) -> Result<u64, CommandError> {
    let messages = trace_messages(journal, id)?;
    let is_meant = |traced: &TracedMessage, uuid: &str| {
        traced.uuids.iter().any(|own| own.eq_ignore_ascii_case(uuid))
    };
    let Some(place) = messages.iter().position(|traced| is_meant(traced, last)) else {
        return Err(CommandError::usage(format!(
            "--resume-session-at: there is no message {last} in the session {id}; its transcript \
             names them"
        )));
    };
    let until = messages.get(place).map_or(0, |traced| traced.last_record);
    if let Some(drops) = drops {
        let dropped = messages.iter().filter(|traced| traced.record > until);
        check_dropped_turn(
            dropped.map(|traced| (traced.uuids.as_slice(), traced.is_prompt)),
            drops,
        )?;
    }
    Ok(until)
}

/// Are the messages dropped after this one those that the user meant? Also for a session that only
/// has a transcript.
pub(super) fn check_dropped_import(
    whole: &ImportedConversation,
    last: &str,
    drops: &str,
) -> Result<(), CommandError> {
    let is_last = |names: &Vec<String>| names.iter().any(|own| own.eq_ignore_ascii_case(last));
    let kept_count =
        whole.lines.iter().position(is_last).map_or(whole.lines.len(), |place| place + 1);
    let dropped = whole.lines.iter().zip(&whole.messages).skip(kept_count);
    check_dropped_turn(
        dropped.map(|(names, message)| (names.as_slice(), message.origin == MessageOrigin::User)),
        drops,
    )
}

/// Only one turn may be dropped, the one that starts with this prompt: returns the names of its
/// messages, and which of them are prompts.
fn check_dropped_turn<'a>(
    mut dropped: impl Iterator<Item = (&'a [String], bool)>,
    drops: &str,
) -> Result<(), CommandError> {
    let rejected = |why: &str| {
        let words = "Resume rejected by --resume-drops-turn:";
        Err(CommandError::failure(format!("{words} {why}; resume without dropping anything")))
    };
    match dropped.next() {
        None => rejected("nothing follows that message"),
        Some((names, _)) if !names.iter().any(|own| own.eq_ignore_ascii_case(drops)) => {
            rejected(&format!("what follows that message does not begin with the prompt {drops}"))
        }
        Some(_) if dropped.any(|(_, is_prompt)| is_prompt) => {
            rejected(&format!("more follows that message than the turn of {drops}"))
        }
        Some(_) => Ok(()),
    }
}

const PROMPT_CHARS_MAX: usize = 60;
