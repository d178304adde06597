//! What is sent to the model: the transcript, seen through what the levels remember.

use alloc::vec::Vec;
use windlass_vocabulary::{AttachmentKind, Message, MessageId, MessageOrigin, Messages, MetaKind};

use super::Memory;
use crate::transcript::{Entry, Transcript};

/// The messages of one request. Grows with the transcript; what changed at some message is made anew
/// from there on, so that a turn costs what is new and what a level touched, not the history.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Projection {
    /// In order.
    pub messages: Messages,
    /// Raw estimate of their size.
    pub raw: u64,
    /// Raw estimate of each.
    sizes: Vec<u64>,
    /// How many stand before the body: a summary and what is sent beside it, and what survived a
    /// snip. In the body, numbers rise.
    head: usize,
    /// The transcript is taken in up to here; `None` when nothing is.
    seen: Option<MessageId>,
}

impl Projection {
    /// Makes the projection.
    pub(super) fn new(memory: &Memory, transcript: &Transcript) -> Self {
        let mut made = Self::default();
        made.extend(memory, transcript);
        made
    }

    /// Takes in what is not taken in yet.
    pub(super) fn extend(&mut self, memory: &Memory, transcript: &Transcript) {
        let from = match self.seen {
            Some(seen) => seen,
            None => {
                for id in memory.head() {
                    if let Some(entry) = transcript.entry(id) {
                        self.push(memory.shown(entry));
                    }
                }
                self.head = self.sizes.len();
                memory.body_start()
            }
        };
        let collapsed = memory.collapsed();
        let past = collapsed.partition_point(|collapse| collapse.last < from);
        let mut committed = collapsed.iter().skip(past).peekable();
        for entry in transcript.entries_from(from) {
            let id = entry.message.id;
            while committed.peek().is_some_and(|collapse| collapse.last < id) {
                committed.next();
            }
            match committed.peek() {
                Some(collapse) if collapse.first < id => {}
                Some(collapse) if collapse.first == id => self.push(&collapse.line),
                _ => self.push(memory.shown(entry)),
            }
        }
        self.seen = Some(transcript.next_id());
    }

    /// Something changed at this message: it and all behind it are taken in again.
    pub(super) fn forget_from(&mut self, id: MessageId, body_start: MessageId) {
        if self.seen.is_none_or(|seen| id >= seen) {
            return;
        }
        if id < body_start {
            return self.forget();
        }
        let mut low = self.head;
        let mut high = self.sizes.len();
        while low < high {
            let middle = low + (high - low) / 2;
            match self.messages.get(middle).is_some_and(|message| message.id < id) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        self.raw -= self.sizes.drain(low..).sum::<u64>();
        self.messages.truncate(low);
        self.seen = Some(id);
    }

    /// It must be made anew.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    fn push(&mut self, entry: &Entry) {
        self.messages.push(entry.message.clone());
        self.sizes.push(entry.raw);
        self.raw += entry.raw;
    }
}

/// Never left out by any level: pinned messages and the hidden first message.
pub(crate) fn is_permanent(message: &Message) -> bool {
    message.pinned || message.origin == MessageOrigin::Meta(MetaKind::Context)
}

/// Something a person asked for.
pub(crate) fn is_request(message: &Message) -> bool {
    matches!(
        message.origin,
        MessageOrigin::User | MessageOrigin::Attachment(AttachmentKind::QueuedInput)
    )
}
