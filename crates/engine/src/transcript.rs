//! The append-only list of what happened. Nothing in it is ever altered or taken out.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use windlass_vocabulary::{Message, MessageId, ToolCallId};

use crate::context::estimate;

/// What happened, in order. A message's id is its position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    entries: Vec<Entry>,
    calls: BTreeSet<ToolCallId>,
    /// Where turns begin: an answer with calls.
    turns: Vec<MessageId>,
}

/// A message with the raw estimate of its size, made once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The message.
    pub message: Arc<Message>,
    /// Raw estimate of its tokens.
    pub raw: u64,
}

impl Transcript {
    /// The id the next message will get.
    #[must_use]
    pub fn next_id(&self) -> MessageId {
        MessageId(self.entries.len() as u64)
    }

    /// Every entry, oldest first.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// One message.
    #[must_use]
    pub fn message(&self, id: MessageId) -> Option<&Arc<Message>> {
        self.entry(id).map(|entry| &entry.message)
    }

    /// One entry.
    #[must_use]
    pub fn entry(&self, id: MessageId) -> Option<&Entry> {
        self.entries.get(usize::try_from(id.0).ok()?)
    }

    /// Every message, oldest first.
    pub fn messages(&self) -> impl DoubleEndedIterator<Item = &Arc<Message>> {
        self.entries.iter().map(|entry| &entry.message)
    }

    /// Where the turns from this message on begin. A turn is an answer with calls, with everything
    /// that follows it up to the next one; what comes before the first is no turn.
    #[must_use]
    pub fn turns_from(&self, first: MessageId) -> &[MessageId] {
        let skipped = self.turns.partition_point(|start| *start < first);
        self.turns.get(skipped..).unwrap_or_default()
    }

    /// The entries from this message on.
    #[must_use]
    pub fn entries_from(&self, first: MessageId) -> &[Entry] {
        let place = usize::try_from(first.0).unwrap_or(usize::MAX);
        self.entries.get(place..).unwrap_or_default()
    }

    pub(crate) fn push(&mut self, message: Message) -> Arc<Message> {
        debug_assert_eq!(message.id, self.next_id(), "a message's id is its position");
        let raw = estimate::message(&message);
        if message.tool_calls().next().is_some() {
            self.turns.push(message.id);
        }
        let message = Arc::new(message);
        self.entries.push(Entry { message: message.clone(), raw });
        message
    }

    /// Takes in a call id; a doubled one gets a derived name, because providers refuse a history
    /// with two calls of one name.
    pub(crate) fn claim_call_id(&mut self, id: ToolCallId) -> ToolCallId {
        if self.calls.insert(id.clone()) {
            return id;
        }
        let mut number = 2u64;
        loop {
            let derived = ToolCallId::from(&*format!("{id}_{number}"));
            if self.calls.insert(derived.clone()) {
                return derived;
            }
            number += 1;
        }
    }

    /// Gives call ids back whose answer was discarded.
    pub(crate) fn release_call_id(&mut self, id: &ToolCallId) {
        self.calls.remove(id);
    }
}
