//! Maps lines of the transcript to records, so that a session can be rewound to one.

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

/// A message with its position in both files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedMessage {
    pub message: MessageId,
    /// The ids of its lines.
    pub uuids: Vec<String>,
    /// The record that caused it.
    pub record: u64,
    /// The last record before the next message: to keep the message, keep everything up to this
    /// one.
    pub last_record: u64,
    /// Submitted by the user or a client.
    pub is_prompt: bool,
    /// The text for display. For a prompt, the user's own words without attachments.
    pub text: String,
    /// The tool calls in it.
    pub calls: Vec<ToolCallId>,
}

/// All messages of a session, oldest first. Uses the settings in the journal, or these if it
/// contains none.
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
    // The messages of one event stay together.
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

/// Renders the complete transcript of a session from its journal.
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

/// As [`render_transcript`], for a journal that contains its settings.
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
