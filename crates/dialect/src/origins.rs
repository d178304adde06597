//! Where each piece of an encoded request came from, so that what a provider says of the request
//! can be said of the transcript.

use alloc::vec::Vec;

use windlass_vocabulary::MessageId;

use crate::offender::Offender;

/// One block of the transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The message.
    pub message: MessageId,
    /// Position in its content.
    pub block: usize,
}

/// Where the pieces of an encoded request came from: for each message as the wire counts them (or
/// item, where the wire has items), its blocks in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// Messages of the wire before the first that has an origin.
    before: usize,
    /// Where the blocks of each message end.
    ends: Vec<usize>,
    /// `None` for what was made up.
    blocks: Vec<Option<Place>>,
}

impl Origins {
    /// What a refusal points at, in the order it was sent: one block where it names one that has a
    /// place, else every block of the message. Empty for what is not from the transcript.
    #[must_use]
    pub fn find(&self, offender: &Offender) -> Vec<Place> {
        let message = offender.message.checked_sub(self.before);
        let blocks = message.and_then(|message| self.message(message)).unwrap_or_default();
        let named = offender.block.and_then(|block| blocks.get(block)).copied().flatten();
        match named {
            Some(place) => Vec::from([place]),
            None => blocks.iter().copied().flatten().collect(),
        }
    }

    /// How many messages the wire counts.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.before + self.ends.len()
    }

    fn message(&self, position: usize) -> Option<&[Option<Place>]> {
        let end = self.ends.get(position)?;
        let before = position.checked_sub(1).and_then(|before| self.ends.get(before));
        self.blocks.get(before.copied().unwrap_or(0)..*end)
    }

    /// So many messages of the wire come before the first that has an origin.
    pub(crate) fn set_before(&mut self, messages: usize) {
        self.before = messages;
    }

    /// Messages with an origin.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// One more message.
    pub(crate) fn add_message(&mut self, blocks: impl IntoIterator<Item = Option<Place>>) {
        self.blocks.extend(blocks);
        self.ends.push(self.blocks.len());
    }

    /// Forgets all but so many messages.
    pub(crate) fn truncate(&mut self, messages: usize) {
        self.ends.truncate(messages);
        self.blocks.truncate(self.ends.last().copied().unwrap_or(0));
    }
}
