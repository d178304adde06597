//! What a session can go back to: before one of its messages, or before one of its calls.

use windlass_journal::SnapshotStore;
use windlass_journal::transcript::TracedMessage;

/// A moment of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewindPoint {
    /// The last record of the conversation that counts.
    pub conversation: u64,
    /// What was done to files behind this record is taken back.
    pub files: u64,
    /// The message, for people.
    pub text: String,
}

impl RewindPoint {
    /// Before this message.
    #[must_use]
    pub fn before_message(message: &TracedMessage) -> Self {
        let before = message.record.saturating_sub(1);
        Self { conversation: before, files: before, text: message.text.clone() }
    }

    /// Before the message of this name in the transcript, or before the call of this id. A call is
    /// taken back with those that ran beside it, and the conversation with the answer that made it.
    #[must_use]
    pub fn find(messages: &[TracedMessage], kept: &SnapshotStore, name: &str) -> Option<Self> {
        let named = |traced: &&TracedMessage| traced.uuids.iter().any(|own| own == name);
        if let Some(message) = messages.iter().find(named) {
            return Some(Self::before_message(message));
        }
        let calling =
            |traced: &TracedMessage| traced.calls.iter().any(|call| call.as_str() == name);
        let place = messages.iter().position(calling)?;
        // The answer itself arrives in pieces, and a call of it may have begun before the last: all of
        // them go, back to the message it answers.
        let conversation = messages.get(place.checked_sub(1)?)?.record;
        let spans = kept.find_spans_after(0).into_iter();
        let span = spans.rev().find(|span| span.calls.iter().any(|call| call == name));
        let files = span.map_or(conversation, |span| span.record.saturating_sub(1));
        Some(Self { conversation, files, text: format!("call {name}") })
    }
}
