//! What is sent to the model: the transcript, seen through what the levels remember.

use alloc::collections::BTreeMap;
use windlass_vocabulary::{AttachmentKind, Message, MessageId, Messages, MetaKind, Origin};

use super::Memory;
use crate::transcript::{Entry, Transcript};

/// The messages of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Projection {
    /// In order.
    pub messages: Messages,
    /// Raw estimate of their size.
    pub raw: u64,
    /// How much of the transcript was seen; `None` when it must be made anew.
    seen: Option<usize>,
}

impl Projection {
    /// Makes the projection.
    pub(super) fn new(memory: &Memory, transcript: &Transcript) -> Self {
        let mut made = Self { seen: Some(transcript.entries().len()), ..Self::default() };
        visit(memory, transcript, &mut |entry| made.push(entry));
        made
    }

    /// Takes in what the transcript has grown by; says whether that was enough. New messages are
    /// never snipped, collapsed or behind a summary.
    pub(super) fn extend(
        &mut self,
        shortened: &BTreeMap<MessageId, Entry>,
        transcript: &Transcript,
    ) -> bool {
        let Some(seen) = self.seen else { return false };
        for entry in transcript.entries().get(seen..).unwrap_or_default() {
            self.push(shortened.get(&entry.message.id).unwrap_or(entry));
        }
        self.seen = Some(transcript.entries().len());
        true
    }

    /// Something changed at this message: if it was seen, the projection must be made anew.
    pub(super) fn forget_from(&mut self, id: MessageId) {
        if self.seen.is_some_and(|seen| id.0 < seen as u64) {
            self.forget();
        }
    }

    /// It must be made anew.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    fn push(&mut self, entry: &Entry) {
        self.messages.push(entry.message.clone());
        self.raw += entry.raw;
    }
}

/// Walks the entries of the projection in order.
fn visit<'a>(memory: &'a Memory, transcript: &'a Transcript, see: &mut dyn FnMut(&'a Entry)) {
    if let Some(boundary) = &memory.boundary {
        for id in boundary.before.iter().chain([&boundary.summary]).chain(&boundary.after) {
            if let Some(entry) = transcript.entry(*id) {
                see(memory.shown(entry));
            }
        }
    }
    let mut committed = memory.collapsed().iter().peekable();
    for entry in transcript.entries_from(memory.after_summary()) {
        let id = entry.message.id;
        while committed.peek().is_some_and(|collapse| collapse.last < id) {
            committed.next();
        }
        match committed.peek() {
            Some(collapse) if collapse.first <= id => {
                if collapse.first == id {
                    see(&collapse.line);
                }
                continue;
            }
            _ => {}
        }
        let stays = is_permanent(&entry.message) || is_request(&entry.message);
        if !is_snipped(memory, id) || stays {
            see(memory.shown(entry));
        }
    }
}

fn is_snipped(memory: &Memory, id: MessageId) -> bool {
    memory.snipped_before.is_some_and(|first_kept| id < first_kept)
}

/// Never left out by any level: pinned messages and the hidden first message.
pub(crate) fn is_permanent(message: &Message) -> bool {
    message.pinned || message.origin == Origin::Meta(MetaKind::Context)
}

/// Something a person asked for.
pub(crate) fn is_request(message: &Message) -> bool {
    matches!(message.origin, Origin::User | Origin::Attachment(AttachmentKind::QueuedInput))
}
