//! The transcript ids of messages: a client may name a prompt it sends, and imported messages keep
//! their ids. All other ids are derived from the message's position.

use std::collections::VecDeque;

use crate::record::JournalNote;

/// Names in the order in which their messages will come.
#[derive(Debug, Default)]
pub(super) struct MessageNames {
    /// Of the next submitted message.
    next: Option<String>,
    /// Of messages queued for the next tool boundary.
    queued: VecDeque<Option<String>>,
    /// Of the lines of messages that are imported next.
    adopted: VecDeque<Vec<String>>,
}

impl MessageNames {
    /// Reads a note. A note copied from another session names messages of that session.
    pub(super) fn observe_note(&mut self, note: &JournalNote, is_inherited: bool) {
        match note {
            JournalNote::Named(name) if !is_inherited => self.next = Some(name.clone()),
            JournalNote::Lines(lines) if !is_inherited => {
                self.adopted = lines.iter().cloned().collect();
            }
            JournalNote::Unqueued(place) => {
                drop(self.queued.remove(usize::try_from(*place).unwrap_or(usize::MAX)));
            }
            JournalNote::Intended(_)
            | JournalNote::Billed(_)
            | JournalNote::Asked(_)
            | JournalNote::Ended(_)
            | JournalNote::Context(_)
            | JournalNote::Continued(..)
            | JournalNote::Titled(_)
            | JournalNote::Named(_)
            | JournalNote::Lines(_)
            | JournalNote::Unknown(_) => {}
        }
    }

    /// The submitted message was queued.
    pub(super) fn queue_next(&mut self) {
        self.queued.push_back(self.next.take());
    }

    /// The name of a user's message that is delivered.
    pub(super) fn take_prompt_name(&mut self) -> Option<String> {
        self.queued.pop_front().unwrap_or_else(|| self.next.take())
    }

    /// The names of an imported message, line by line.
    pub(super) fn take_adopted(&mut self) -> Option<Vec<String>> {
        self.adopted.pop_front()
    }

    /// The names of the queued messages.
    pub(super) fn queued_names(&self) -> impl Iterator<Item = Option<&str>> {
        self.queued.iter().map(Option::as_deref)
    }
}
