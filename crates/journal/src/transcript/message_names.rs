//! What others call a message: a client may have named the prompt it sent, and messages that came
//! out of a transcript keep the names they have there. Everything else has a name derived from its
//! place.

use std::collections::VecDeque;

use crate::record::JournalNote;

/// Names that were given, in the order in which their messages will come.
#[derive(Debug, Default)]
pub(super) struct MessageNames {
    /// That of the message submitted next.
    next: Option<String>,
    /// Those of messages that wait for the next tool boundary.
    queued: VecDeque<Option<String>>,
    /// Those of the lines of messages that are adopted next.
    adopted: VecDeque<Vec<String>>,
}

impl MessageNames {
    /// Learns from a note. One that was taken over from another session names messages of that one.
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

    /// The message that was submitted waits.
    pub(super) fn queue_next(&mut self) {
        self.queued.push_back(self.next.take());
    }

    /// A message of a person is delivered: its name.
    pub(super) fn take_prompt_name(&mut self) -> Option<String> {
        self.queued.pop_front().unwrap_or_else(|| self.next.take())
    }

    /// The names of a message that came from elsewhere, line by line.
    pub(super) fn take_adopted(&mut self) -> Option<Vec<String>> {
        self.adopted.pop_front()
    }

    /// The names of what waits.
    pub(super) fn queued_names(&self) -> impl Iterator<Item = Option<&str>> {
        self.queued.iter().map(Option::as_deref)
    }
}
