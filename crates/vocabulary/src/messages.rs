//! The messages of a request: a list that grows at its end, with cheap copies.
//!
//! A session of ten thousand messages sends nearly the same list ten thousand times. A copy costs
//! one reference count per `CHUNK_LEN` messages, and lists with a common history are compared by
//! the chunks they share.

use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::message::Message;

/// Messages, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    /// All but the last are full, and none is empty.
    chunks: Vec<Arc<Vec<Arc<Message>>>>,
}

/// Messages per chunk: a push copies at most one chunk.
const CHUNK_LEN: usize = 128;

impl Messages {
    /// Counts messages, not chunks.
    #[must_use]
    pub fn len(&self) -> usize {
        let last = self.chunks.last().map_or(0, |chunk| chunk.len());
        self.chunks.len().saturating_sub(1) * CHUNK_LEN + last
    }

    /// Are there none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Adds one at the end.
    pub fn push(&mut self, message: Arc<Message>) {
        match self.chunks.last_mut() {
            Some(chunk) if chunk.len() < CHUNK_LEN => Arc::make_mut(chunk).push(message),
            _ => self.chunks.push(Arc::new(alloc::vec![message])),
        }
    }

    /// Keeps the first messages only.
    pub fn truncate(&mut self, len: usize) {
        self.chunks.truncate(len.div_ceil(CHUNK_LEN));
        let whole = self.chunks.len().saturating_sub(1) * CHUNK_LEN;
        if let Some(chunk) = self.chunks.last_mut()
            && chunk.len() > len - whole
        {
            Arc::make_mut(chunk).truncate(len - whole);
        }
    }

    /// The message at this index.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<&Arc<Message>> {
        self.chunks.get(place / CHUNK_LEN)?.get(place % CHUNK_LEN)
    }

    /// The newest.
    #[must_use]
    pub fn last(&self) -> Option<&Arc<Message>> {
        self.chunks.last()?.last()
    }

    /// All of them, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Arc<Message>> {
        self.iter_from(0)
    }

    /// The messages from this index on.
    pub fn iter_from(&self, place: usize) -> impl DoubleEndedIterator<Item = &Arc<Message>> {
        let chunks = self.chunks.get(place / CHUNK_LEN..).unwrap_or_default();
        chunks.iter().enumerate().flat_map(move |(index, chunk)| {
            let skipped = if index == 0 { place % CHUNK_LEN } else { 0 };
            chunk.get(skipped..).unwrap_or_default()
        })
    }

    /// How many messages at the start are the same in both.
    #[must_use]
    pub fn shared_prefix_len(&self, other: &Self) -> usize {
        let mut pairs = self.chunks.iter().zip(&other.chunks);
        let shared = pairs.by_ref().take_while(|(one, two)| Arc::ptr_eq(one, two)).count();
        let start = shared * CHUNK_LEN;
        let rest = self.iter_from(start).zip(other.iter_from(start));
        let same = rest.take_while(|(one, two)| Arc::ptr_eq(one, two) || one == two).count();
        // A shared last chunk may be shorter than a full one.
        (start + same).min(self.len()).min(other.len())
    }
}

impl FromIterator<Arc<Message>> for Messages {
    fn from_iter<I: IntoIterator<Item = Arc<Message>>>(messages: I) -> Self {
        let mut list = Self::default();
        messages.into_iter().for_each(|message| list.push(message));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::MessageId;
    use crate::message::MessageOrigin;

    fn message(id: u64) -> Arc<Message> {
        Arc::new(Message::user_text(MessageId(id), MessageOrigin::User, "x"))
    }

    #[test]
    fn a_list_grown_from_another_shares_its_beginning() {
        for len in [0, 1, 127, 128, 129, 300] {
            let old: Messages = (0..len).map(message).collect();
            let mut new = old.clone();
            assert_eq!(old.shared_prefix_len(&new), old.len());
            new.push(message(len));
            assert_eq!((old.len() as u64, new.len() as u64), (len, len + 1));
            assert_eq!(old.shared_prefix_len(&new), old.len(), "{len}");
            assert_eq!(new.shared_prefix_len(&old), old.len(), "{len}");
            assert_eq!(new.get(old.len()), new.last());
            let ids = |from| new.iter_from(from).map(|m| m.id.0).collect::<Vec<_>>();
            for from in [0, 1, 126, 127, 128, 200, 301] {
                assert_eq!(ids(from), (from as u64..=len).collect::<Vec<_>>(), "{len} {from}");
            }
            let mut backwards: Vec<u64> = new.iter().rev().map(|m| m.id.0).collect();
            backwards.reverse();
            assert_eq!(backwards, ids(0));
        }
    }

    #[test]
    fn a_list_is_cut_anywhere() {
        for keep in [0, 1, 127, 128, 129, 256, 299, 300, 400] {
            let whole: Messages = (0..300).map(message).collect();
            let mut cut = whole.clone();
            cut.truncate(keep);
            let expected: Messages = (0..300.min(keep as u64)).map(message).collect();
            assert_eq!(cut, expected, "{keep}");
            assert_eq!((whole.len(), cut.len()), (300, keep.min(300)), "{keep}");
        }
    }

    #[test]
    fn the_shared_prefix_ends_at_the_first_different_message() {
        let one: Messages = (0..300).map(message).collect();
        for at in [0, 5, 128, 299] {
            let two: Messages = (0..300).map(|n| message(if n == at { 999 } else { n })).collect();
            assert_eq!(one.shared_prefix_len(&two) as u64, at);
        }
    }
}
