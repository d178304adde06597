//! What others call a message: a client may have named the prompt it sent, and messages that came
//! out of a transcript keep the names they have there. Everything else has a name derived from its
//! place.

use std::collections::VecDeque;

use crate::record::Note;

/// Names that were given, in the order in which their messages will come.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// That of the message submitted next.
    next: Option<String>,
    /// Those of messages that wait for the next tool boundary.
    waiting: VecDeque<Option<String>>,
    /// Those of the lines of messages that are adopted next.
    adopted: VecDeque<Vec<String>>,
}

impl Names {
    /// Learns from a note. One that was taken over from another session names messages of that one.
    pub(super) fn note(&mut self, note: &Note, is_inherited: bool) {
        match note {
            Note::Named(name) if !is_inherited => self.next = Some(name.clone()),
            Note::Lines(lines) if !is_inherited => self.adopted = lines.iter().cloned().collect(),
            Note::Unqueued(place) => {
                drop(self.waiting.remove(usize::try_from(*place).unwrap_or(usize::MAX)));
            }
            _ => {}
        }
    }

    /// The message that was submitted waits.
    pub(super) fn queued(&mut self) {
        self.waiting.push_back(self.next.take());
    }

    /// A message of a person is delivered: its name.
    pub(super) fn delivered(&mut self) -> Option<String> {
        self.waiting.pop_front().unwrap_or_else(|| self.next.take())
    }

    /// The names of a message that came from elsewhere, line by line.
    pub(super) fn adopted(&mut self) -> Option<Vec<String>> {
        self.adopted.pop_front()
    }

    /// The names of what waits.
    pub(super) fn waiting(&self) -> impl Iterator<Item = Option<&str>> {
        self.waiting.iter().map(Option::as_deref)
    }
}
