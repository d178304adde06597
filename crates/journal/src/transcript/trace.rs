//! Which record a line of the transcript came from, so that a session can go back to it.

use std::cell::RefCell;
use std::path::Path;

use windlass_engine::{Effect, Settings};
use windlass_vocabulary::{
    AttachmentKind, Message, MessageId, MessageOrigin, ModelFacts, Notice, ToolCallId,
};

use super::{Transcriber, TranscriptContext};
use crate::conversation::find_own_words;
use crate::error::JournalError;
use crate::fold::{ReplayStep, fold_entries};
use crate::journal_reader::JournalReader;

/// A message, and where it stands in both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedMessage {
    pub message: MessageId,
    /// What its lines are called.
    pub uuids: Vec<String>,
    /// The record that led to it.
    pub record: u64,
    /// The last record before anything more was said: to keep the message, keep up to this one.
    pub last_record: u64,
    /// A person or a client said it.
    pub is_prompt: bool,
    /// What was said, for people. A prompt is in the user's own words, without what was attached.
    pub text: String,
    /// The tools it calls.
    pub calls: Vec<ToolCallId>,
}

/// Every message of a session, oldest first. Decided under the settings the journal holds; a journal
/// that holds none, under these.
pub fn trace_messages(
    journal: &Path,
    session: &str,
    settings: &Settings,
) -> Result<Vec<TracedMessage>, JournalError> {
    let mut transcriber = Transcriber::new(TranscriptContext {
        session: session.into(),
        ..TranscriptContext::default()
    });
    transcriber.set_writing(false);
    let tracing = RefCell::new((transcriber, Vec::<TracedMessage>::new()));
    let on_step = |step: ReplayStep<'_>| {
        let (transcriber, traced) = &mut *tracing.borrow_mut();
        for effect in step.effects {
            let Effect::Tell(notice) = effect else { continue };
            let done = transcriber.transcribe_notice(notice, step.at);
            if let (Notice::MessageAdded(message), Some(done)) = (notice, done) {
                traced.push(TracedMessage {
                    message: message.id,
                    uuids: done.uuids,
                    record: step.seq,
                    last_record: u64::MAX,
                    is_prompt: is_prompt(message),
                    text: match is_prompt(message) {
                        true => find_own_words(&message.content),
                        false => message.text(),
                    },
                    calls: message.tool_calls().map(|call| call.id.clone()).collect(),
                });
            }
        }
    };
    let on_entry = |entry| tracing.borrow_mut().0.observe_entry(&entry);
    let (folded, _) = fold_entries(JournalReader::open(journal)?, settings, on_step, on_entry)?;
    let (_, mut traced) = tracing.into_inner();
    // What one event led to stays together.
    let mut next = u64::MAX;
    let mut until = folded.seq;
    for traced in traced.iter_mut().rev() {
        if traced.record != next {
            if next != u64::MAX {
                until = next - 1;
            }
            next = traced.record;
        }
        traced.last_record = until;
    }
    Ok(traced)
}

/// Every line of a session's transcript, made anew from its journal.
pub fn render_transcript(
    journal: &Path,
    about: &TranscriptContext,
    settings: &Settings,
) -> Result<Vec<String>, JournalError> {
    let making = RefCell::new((Transcriber::new(about.clone()), Vec::new()));
    let on_step = |step: ReplayStep<'_>| {
        let (transcriber, lines) = &mut *making.borrow_mut();
        lines.extend(transcriber.transcribe_step(&step));
    };
    let on_entry = |entry| making.borrow_mut().0.observe_entry(&entry);
    fold_entries(JournalReader::open(journal)?, settings, on_step, on_entry)?;
    Ok(making.into_inner().1)
}

/// As [`render_transcript`], for a journal that says itself under which settings it was decided.
pub fn render_recorded_transcript(
    journal: &Path,
    about: &TranscriptContext,
) -> Result<Vec<String>, JournalError> {
    render_transcript(journal, about, &Settings::new(ModelFacts::new("unknown")))
}

fn is_prompt(message: &Message) -> bool {
    matches!(
        message.origin,
        MessageOrigin::User | MessageOrigin::Attachment(AttachmentKind::QueuedInput)
    )
}
