//! The points a session can be rewound to: before one of its messages, or before one of its calls.

use windlass_journal::SnapshotStore;
use windlass_journal::transcript::TracedMessage;

/// A message or call, and what is kept when a session goes back to before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewindPoint {
    /// The last record of the conversation that is kept.
    pub conversation: u64,
    /// File changes after this record are undone.
    pub files: u64,
    /// The message, for display.
    pub text: String,
}

impl RewindPoint {
    /// The point before this message.
    #[must_use]
    pub fn before_message(message: &TracedMessage) -> Self {
        let before = message.record.saturating_sub(1);
        Self { conversation: before, files: before, text: message.text.clone() }
    }

    /// The point before the message with this transcript name, or before the call with this id.
    /// Calls that ran in the same batch are undone too, and the conversation goes back to before
    /// the answer that made the call.
    #[must_use]
    pub fn find(messages: &[TracedMessage], kept: &SnapshotStore, name: &str) -> Option<Self> {
        let named = |traced: &&TracedMessage| traced.uuids.iter().any(|own| own == name);
        if let Some(message) = messages.iter().find(named) {
            return Some(Self::before_message(message));
        }
        let calling =
            |traced: &TracedMessage| traced.calls.iter().any(|call| call.as_str() == name);
        let place = messages.iter().position(calling)?;
        // An answer arrives in pieces, and a call may have begun before the last one. All pieces
        // are dropped, back to the message that it answers.
        let conversation = messages.get(place.checked_sub(1)?)?.record;
        let spans = kept.find_spans_after(0).into_iter();
        let span = spans.rev().find(|span| span.calls.iter().any(|call| call == name));
        let files = span.map_or(conversation, |span| span.record.saturating_sub(1));
        Some(Self { conversation, files, text: format!("call {name}") })
    }
}
