//! Maps each part of an encoded request to its origin, so that a provider's error about the request
//! can be applied to the transcript.

use alloc::vec::Vec;

use windlass_vocabulary::MessageId;

use crate::refused_item::RefusedItem;

/// One block of the transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockLocation {
    /// The message of the transcript.
    pub message: MessageId,
    /// Position in its content.
    pub block: usize,
}

/// Where the pieces of an encoded request came from: for each message as the wire counts them (or
/// item, where the wire has items), its blocks in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestOrigins {
    /// Messages of the wire before the first that has an origin.
    leading_messages: usize,
    /// Where the blocks of each message end.
    message_ends: Vec<usize>,
    /// `None` for what was made up.
    blocks: Vec<Option<BlockLocation>>,
}

impl RequestOrigins {
    /// The blocks that a refusal points at, in the order they were sent: one block if it names one that
    /// has a position, else every block of the message. Empty for what is not from the transcript.
    #[must_use]
    pub fn find(&self, offender: &RefusedItem) -> Vec<BlockLocation> {
        let message = offender.message.checked_sub(self.leading_messages);
        let blocks = message.and_then(|message| self.message_blocks(message)).unwrap_or_default();
        let named = offender.block.and_then(|block| blocks.get(block)).copied().flatten();
        match named {
            Some(place) => Vec::from([place]),
            None => blocks.iter().copied().flatten().collect(),
        }
    }

    /// The number of messages on the wire.
    #[must_use]
    pub fn message_count(&self) -> usize {
        self.leading_messages + self.message_ends.len()
    }

    fn message_blocks(&self, position: usize) -> Option<&[Option<BlockLocation>]> {
        let end = self.message_ends.get(position)?;
        let before = position.checked_sub(1).and_then(|before| self.message_ends.get(before));
        self.blocks.get(before.copied().unwrap_or(0)..*end)
    }

    /// The number of messages on the wire before the first one with an origin.
    pub(crate) fn set_leading_messages(&mut self, messages: usize) {
        self.leading_messages = messages;
    }

    /// Messages with an origin.
    pub(crate) fn len(&self) -> usize {
        self.message_ends.len()
    }

    pub(crate) fn add_message(&mut self, blocks: impl IntoIterator<Item = Option<BlockLocation>>) {
        self.blocks.extend(blocks);
        self.message_ends.push(self.blocks.len());
    }

    /// Keeps the first messages only.
    pub(crate) fn truncate(&mut self, messages: usize) {
        self.message_ends.truncate(messages);
        self.blocks.truncate(self.message_ends.last().copied().unwrap_or(0));
    }
}
