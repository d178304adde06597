//! Write ahead: an event is on disk before its effects are performed.
//!
//! Pieces of text change no decision, so they are grouped and written with the next event that
//! does; raw wire events and words of progress are not written at all. A journal that cannot be
//! written is broken for good: the event in hand is not acted on, and the session ends.

use std::path::PathBuf;

use tokio::task::spawn_blocking;
use windlass_engine::{Effect, Event, Settings, State};
use windlass_journal::{Durability, Folded, Head, JournalError, NewItem, Note, Opening, Writer};
use windlass_vocabulary::Delta;

use crate::clock;
use crate::notices::Teller;
use crate::scribe::Scribe;

/// The journal of a session, if it has one.
pub(crate) enum Journal {
    /// Nothing is written down.
    Off,
    /// Events are written down here.
    On(Box<Book>),
    /// It can no longer be written.
    Broken(JournalError),
}

/// A journal that can be written.
pub(crate) struct Book {
    writer: Writer,
    /// Text that arrived since the last record.
    pending: Option<Event>,
    /// What follows from events and is not written yet.
    notes: Vec<Note>,
    scribe: Scribe,
    is_continued: bool,
}

/// Where a journal lies and what it says of itself.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) durability: Durability,
    pub(crate) head: Head,
    /// The version of the price table.
    pub(crate) prices: Option<String>,
}

impl Journal {
    /// Opens the journal, if there is to be one, and gives the state to begin with.
    pub(crate) fn open(
        place: Option<Place>,
        settings: &Settings,
        teller: &Teller,
    ) -> Result<(Self, State), JournalError> {
        let Some(Place { path, durability, head, prices }) = place else {
            return Ok((Self::Off, State::new(settings)));
        };
        let mut opening = Opening::new(durability);
        opening.head = Head { created: opening.at, ..head };
        let (writer, folded) = Writer::open_with(&path, opening, settings)?;
        let Folded { state, settings: _, seq, whole_bytes: _, torn_bytes, damages } = folded;
        for (line, damage) in damages {
            let path = path.display();
            teller.warn(format!("line {line} of the journal {path} was skipped: {damage}"));
        }
        if torn_bytes > 0 {
            let path = path.display();
            teller.warn(format!("the last record of the journal {path} was torn and is left out"));
        }
        let scribe = Scribe::new(&state, prices);
        let (pending, notes, is_continued) = (None, Vec::new(), seq > 0);
        Ok((Self::On(Box::new(Book { writer, pending, notes, scribe, is_continued })), state))
    }

    /// Does the session go on from an earlier process?
    pub(crate) fn is_continued(&self) -> bool {
        matches!(self, Self::On(book) if book.is_continued)
    }

    /// Is anything written down?
    pub(crate) fn is_on(&self) -> bool {
        matches!(self, Self::On(_))
    }

    /// Can it no longer be written?
    pub(crate) fn is_broken(&self) -> bool {
        matches!(self, Self::Broken(_))
    }

    /// Why it is broken, in words.
    pub(crate) fn complaint(&self) -> String {
        match self {
            Self::Broken(error) => format!("the session ends, because {error}"),
            Self::Off | Self::On(_) => String::new(),
        }
    }

    /// Writes the event down and gives it back, or keeps it if it could not be written.
    pub(crate) async fn record(self, event: Event) -> (Self, Option<Event>) {
        let Self::On(mut book) = self else {
            return (self, Some(event));
        };
        match book.hold(event) {
            Held::Later(event) => (Self::On(book), Some(event)),
            Held::Now(event) => match book.write(Some(event)).await {
                Ok((book, event)) => (Self::On(book), event),
                Err(error) => (Self::Broken(error), None),
            },
        }
    }

    /// Notes down what follows from the last event, before its effects are performed. A tool must
    /// not start before its intent is on disk; the rest goes with the next event.
    pub(crate) async fn note(
        self,
        state: &State,
        settings: &Settings,
        effects: &[Effect],
        teller: &Teller,
    ) -> Self {
        let Self::On(mut book) = self else { return self };
        let is_urgent = book.scribe.write(state, settings, effects, &mut book.notes);
        if !is_urgent {
            return Self::On(book);
        }
        match book.write(None).await {
            Ok((mut book, _)) => {
                for trouble in book.writer.take_troubles() {
                    teller.warn(trouble);
                }
                Self::On(book)
            }
            Err(error) => Self::Broken(error),
        }
    }

    /// Writes what is still held back.
    pub(crate) async fn finish(self) {
        if let Self::On(book) = self {
            // Only text and notes that nothing followed; the session is over without them.
            let _ = book.write(None).await;
        }
    }
}

/// When an event is written.
enum Held {
    /// With or before the next one that must be, or never.
    Later(Event),
    /// At once.
    Now(Event),
}

impl Book {
    /// Holds text back, joined to what is already held.
    fn hold(&mut self, event: Event) -> Held {
        match &event {
            Event::ToolProgressed { .. } | Event::ModelDelta { delta: Delta::Raw(_), .. } => {
                return Held::Later(event);
            }
            Event::ModelDelta {
                delta: Delta::Text(_) | Delta::Thinking(_) | Delta::CallInput(_),
                ..
            } => {}
            _ => return Held::Now(event),
        }
        match &mut self.pending {
            None => self.pending = Some(event.clone()),
            Some(pending) => match same_text(pending, &event) {
                Some((held, more)) if held.len() < HELD_BYTES_MAX => held.push_str(more),
                _ => return Held::Now(event),
            },
        }
        Held::Later(event)
    }

    /// Writes what is held and then this, as one.
    async fn write(
        self: Box<Self>,
        event: Option<Event>,
    ) -> Result<(Box<Self>, Option<Event>), JournalError> {
        let mut book = self;
        let durability = book.writer.durability();
        let at = clock::unix_millis();
        let write = move || {
            let (notes, pending) = (std::mem::take(&mut book.notes), book.pending.take());
            let notes = notes.iter().map(NewItem::Note);
            let events = pending.iter().chain(&event).map(NewItem::Event);
            let items: Vec<NewItem<'_>> = notes.chain(events).collect();
            if !items.is_empty() {
                book.writer.record(at, &items)?;
            }
            Ok((book, event))
        };
        match durability {
            // With the operating system in microseconds.
            Durability::Written => write(),
            // Waits for the disk, which must not hold up the other tasks of this thread.
            Durability::Synced => match spawn_blocking(write).await {
                Ok(result) => result,
                Err(error) => std::panic::resume_unwind(error.into_panic()),
            },
        }
    }
}

fn same_text<'a>(held: &'a mut Event, next: &'a Event) -> Option<(&'a mut String, &'a str)> {
    let (
        Event::ModelDelta { attempt: a, delta: held },
        Event::ModelDelta { attempt: b, delta: more },
    ) = (held, next)
    else {
        return None;
    };
    match (held, more) {
        _ if a != b => None,
        (Delta::Text(held), Delta::Text(more))
        | (Delta::Thinking(held), Delta::Thinking(more))
        | (Delta::CallInput(held), Delta::CallInput(more)) => Some((held, more)),
        _ => None,
    }
}

/// Text held back at most.
const HELD_BYTES_MAX: usize = 64 * 1024;
