//! What is sent to the model: the transcript, seen through what the levels remember.

use alloc::sync::Arc;
use alloc::vec::Vec;
use windlass_vocabulary::{AttachmentKind, Message, MessageId, MetaKind, Origin};

use super::Memory;
use crate::transcript::{Entry, Transcript};

/// The messages of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Projection {
    /// In order.
    pub messages: Vec<Arc<Message>>,
    /// Raw estimate of their size.
    pub raw: u64,
}

impl Projection {
    /// Makes the projection.
    #[must_use]
    pub fn new(memory: &Memory, transcript: &Transcript) -> Self {
        let mut made = Self::default();
        visit(memory, transcript, &mut |entry| {
            made.messages.push(entry.message.clone());
            made.raw += entry.raw;
        });
        made
    }

    /// Only its size.
    #[must_use]
    pub fn raw(memory: &Memory, transcript: &Transcript) -> u64 {
        let mut raw = 0;
        visit(memory, transcript, &mut |entry| raw += entry.raw);
        raw
    }
}

/// Walks the entries of the projection in order.
fn visit<'a>(memory: &'a Memory, transcript: &'a Transcript, see: &mut dyn FnMut(&'a Entry)) {
    let shown = |entry: &'a Entry| memory.shortened.get(&entry.message.id).unwrap_or(entry);
    let mut start = 0usize;
    if let Some(boundary) = &memory.boundary {
        for id in boundary.before.iter().chain([&boundary.summary]).chain(&boundary.after) {
            if let Some(entry) = transcript.entry(*id) {
                see(shown(entry));
            }
        }
        start = usize::try_from(boundary.summary.0).unwrap_or(usize::MAX).saturating_add(1);
    }
    let mut committed = memory.collapses.iter().filter(|collapse| collapse.is_committed).peekable();
    for entry in transcript.entries().iter().skip(start) {
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
        if is_snipped(memory, id) && !stays {
            continue;
        }
        see(shown(entry));
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
