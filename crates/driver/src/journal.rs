//! Write ahead: an event is written before its effects are performed, and on the disk before those
//! that cannot be taken back.
//!
//! A request, a tool that changes something and the end of a run wait for the disk; all other records
//! ride on the next such wait ([`Keeper`]). Pieces of text change no decision, so they are grouped
//! and written with the next event that does; raw wire events and words of progress are not written
//! at all. When the disk fails, the event in hand is not acted on and the session ends; what is not safe
//! is saved in another file where that can be done.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;
use windlass_engine::{Effect, Event, Settings, State};
use windlass_journal::{
    Durability, Entry, Folded, Head, Held, JournalError, NewItem, Note, Opening, Replayed, Writer,
};
use windlass_vocabulary::{Delta, EffectClass, MicroUsd};

use crate::clock;
use crate::keeper::{Gate, Keeper};
use crate::notices::Teller;
use crate::scribe::{Scribe, class_of};
use crate::transcript::Pen;
use crate::undo::Undo;
use crate::waits::Waits;

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
    place: Place,
    /// Waits for the disk, if records are to survive a loss of power.
    keeper: Option<Keeper>,
    /// Why a file was left for the next one, in words.
    left: Option<String>,
}

/// Where a journal lies and what it says of itself.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) durability: Durability,
    pub(crate) head: Head,
    /// The version of the price table.
    pub(crate) prices: Option<String>,
    /// The number of its last record, for those who keep things beside it.
    pub(crate) count: Arc<AtomicU64>,
    /// Counts how long the disk was waited for.
    pub(crate) waits: Arc<Waits>,
}

impl Journal {
    /// Opens the journal, if there is to be one, and gives what to begin with.
    pub(crate) fn open(
        place: Option<Place>,
        settings: &Arc<Settings>,
        teller: &Teller,
        pen: &mut Pen,
    ) -> Result<Opened, JournalError> {
        match place {
            None => {
                pen.begin(None);
                let (journal, state) = (Self::Off, State::new(settings));
                Ok(Opened { journal, state, spent_beside: MicroUsd(0) })
            }
            Some(place) => Self::open_at((place, None), settings, teller, pen),
        }
    }

    /// Opens the journal that lies here, which may be held already.
    fn open_at(
        (place, held): (Place, Option<Held>),
        settings: &Arc<Settings>,
        teller: &Teller,
        pen: &mut Pen,
    ) -> Result<Opened, JournalError> {
        let mut opening = Opening::new(place.durability);
        opening.head = Head { created: opening.at, ..place.head.clone() };
        let mut spent_beside = MicroUsd(0);
        let shared = RefCell::new(&mut *pen);
        let see = |step: Replayed<'_>| shared.borrow_mut().replayed(step.effects);
        let met = |entry: &Entry| {
            if let Entry::Head(head) = entry {
                spent_beside = spent_beside.max(head.spent);
            }
            shared.borrow_mut().met(entry);
        };
        let (writer, folded) = match held {
            Some(held) => Writer::open_held(held, opening, settings, see, met)?,
            None => Writer::open_meeting(&place.path, opening, settings, see, met)?,
        };
        let Folded { state, settings: _, seq, whole_bytes: _, torn_bytes, damages } = folded;
        let path = place.path.display();
        for (line, damage) in damages {
            teller.warn(format!("line {line} of the journal {path} was skipped: {damage}"));
        }
        if torn_bytes > 0 {
            teller.warn(format!("the last record of the journal {path} was torn and is left out"));
        }
        pen.begin(Some((place.path.clone(), Arc::clone(settings))));
        let scribe = Scribe::new(&state, place.prices.clone());
        place.count.store(seq, Ordering::Relaxed);
        let keeper = match place.durability {
            Durability::Written => None,
            Durability::Synced => {
                Some(Keeper::new(writer.flusher()?, seq, Arc::clone(&place.waits)))
            }
        };
        let (pending, notes, is_continued) = (None, Vec::new(), seq > 0);
        let left = None;
        let book = Book { writer, pending, notes, scribe, is_continued, place, keeper, left };
        Ok(Opened { journal: Self::On(Box::new(book)), state, spent_beside })
    }

    /// Goes back to this record and is opened anew there. If there is nothing behind it, or it cannot
    /// go back, it goes on as before; if nobody can say, it is broken.
    pub(crate) async fn go_back(
        self,
        to: u64,
        undo: Arc<Undo>,
        settings: &Arc<Settings>,
        teller: &Teller,
        mut pen: Pen,
    ) -> (Self, Result<Option<Earlier>, JournalError>) {
        let journal = self.settle().await;
        let mut book = match journal {
            Self::On(book) if book.left.is_none() => book,
            other => return (other, Ok(None)),
        };
        let (settings, teller) = (Arc::clone(settings), teller.clone());
        let going = spawn_blocking(move || {
            // What is held back belongs to what is left behind.
            let spent = match book.writer.go_back(to, &settings, undo.kept()) {
                Ok(Some(spent)) => spent,
                Ok(None) => return (Self::On(book), Ok(None)),
                Err(error) => return (Self::On(book), Err(error)),
            };
            let Book { writer, place, keeper, .. } = *book;
            // Whoever still waits at a gate waits in vain.
            drop(keeper);
            let place = (place, Some(writer.into_held()));
            match Self::open_at(place, &settings, &teller, &mut pen) {
                Ok(Opened { journal, state, .. }) => {
                    (journal, Ok(Some(Earlier { state, pen, spent })))
                }
                Err(error) => (Self::Broken(error), Ok(None)),
            }
        });
        match going.await {
            Ok(gone) => gone,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Does the session go on from an earlier process?
    pub(crate) fn is_continued(&self) -> bool {
        matches!(self, Self::On(book) if book.is_continued)
    }

    /// Is anything written down?
    pub(crate) fn is_on(&self) -> bool {
        matches!(self, Self::On(_))
    }

    /// Takes in what is written down with the next event, before it.
    pub(crate) fn note(&mut self, note: Note) {
        if let Self::On(book) = self {
            book.notes.push(note);
        }
    }

    /// Can it no longer be written?
    pub(crate) fn is_broken(&self) -> bool {
        matches!(self, Self::Broken(_))
    }

    /// Did the disk fail under it? Then nothing more may be done, although what comes to its end may
    /// perhaps still be written down in another file.
    pub(crate) fn has_failed(&self) -> bool {
        match self {
            Self::Off => false,
            Self::On(book) => book.left.is_some(),
            Self::Broken(_) => true,
        }
    }

    /// How the disk failed, in words.
    pub(crate) fn complaint(&self) -> String {
        match self {
            Self::Broken(error) => format!("the session ends, because {error}"),
            Self::On(book) => match &book.left {
                Some(left) => format!(
                    "the session ends, because {left}; nothing is lost: look after the disk, and \
                     resume it"
                ),
                None => String::new(),
            },
            Self::Off => String::new(),
        }
    }

    /// Looks at an event before it is decided: what of it must be on disk before anything is done
    /// about it.
    pub(crate) fn hold(&mut self, event: &Event) -> Option<Event> {
        match self {
            Self::On(book) => book.hold(event),
            Self::Off | Self::Broken(_) => None,
        }
    }

    /// Writes down what was held of an event together with what follows from it, before its effects
    /// are performed. What need not be written yet goes with the next event.
    pub(crate) fn write(self, event: Option<&Event>, step: &Decided<'_>) -> Self {
        let Self::On(mut book) = self else { return self };
        let Decided { state, settings, effects } = *step;
        let mut notes = Vec::new();
        let is_urgent = book.scribe.write(state, settings, effects, &mut notes);
        if event.is_none() && !is_urgent {
            book.notes.append(&mut notes);
            return Self::On(book);
        }
        match book.write(event, &notes) {
            Ok(()) => Self::On(book),
            Err(error) => Self::Broken(error),
        }
    }

    /// What this effect has to wait for.
    pub(crate) fn gate(&self, effect: &Effect, state: &State) -> Gate {
        let Self::On(book) = self else { return Gate::open() };
        let Some(keeper) = &book.keeper else { return Gate::open() };
        let cannot_be_undone = match effect {
            Effect::CallModel(_) | Effect::Summarize { .. } => true,
            Effect::StartTool { ticket, .. } => class_of(state, *ticket) != EffectClass::Pure,
            _ => false,
        };
        if cannot_be_undone { keeper.keep() } else { Gate::open() }
    }

    /// Is more written than may be in doubt?
    pub(crate) fn is_overdue(&self) -> bool {
        matches!(self, Self::On(book) if book.writer.doubtful_bytes() > DOUBTFUL_BYTES_MAX)
    }

    /// Waits until everything that was written is safe.
    pub(crate) async fn settle(self) -> Self {
        let mut journal = self;
        loop {
            let Self::On(book) = &journal else { return journal };
            let Some(keeper) = &book.keeper else { return journal };
            match timeout(DISK_MAX, keeper.settled()).await {
                Ok(true) => return journal,
                Ok(false) => journal = journal.mend().await,
                Err(_) => {
                    let error = book.writer.overdue(DISK_MAX);
                    return Self::Broken(error);
                }
            }
        }
    }

    /// Returns when the disk has failed to keep something.
    pub(crate) async fn failing(&self) {
        match self {
            Self::On(book) if let Some(keeper) = &book.keeper => keeper.failing().await,
            Self::Off | Self::On(_) | Self::Broken(_) => std::future::pending().await,
        }
    }

    /// The disk failed to keep something: it is saved in another file, or the journal is broken.
    /// Whatever waited for it to be safe is not done.
    pub(crate) async fn mend(self) -> Self {
        let Self::On(mut book) = self else { return self };
        let Some(keeper) = book.keeper.take_if(|keeper| keeper.is_failing()) else {
            return Self::On(book);
        };
        let mend = move || {
            let (upto, seq) = (keeper.upto(), book.writer.seq());
            book.writer.flushed(upto, Ok(()))?;
            book.writer.flushed(upto, Err(keeper.take_failure()))?;
            let waits = Arc::clone(&book.place.waits);
            book.keeper = Some(Keeper::new(book.writer.flusher()?, seq, waits));
            book.left = Some(book.writer.take_troubles().join("; "));
            Ok(book)
        };
        match spawn_blocking(mend).await {
            Ok(Ok(book)) => Self::On(book),
            Ok(Err(error)) => Self::Broken(error),
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }

    /// Writes what is still held back, and waits for the disk.
    pub(crate) async fn finish(self) {
        if let Self::On(mut book) = self {
            // Only text and notes that nothing followed; the session is over without them.
            if book.write(None, &[]).is_err() {
                return;
            }
            if let Self::On(mut book) = Self::On(book).settle().await
                && let Some(keeper) = &book.keeper
            {
                let _ = book.writer.flushed(keeper.upto(), Ok(()));
                let _ = book.writer.mark(clock::unix_millis());
            }
        }
    }
}

/// A journal that was opened.
pub(crate) struct Opened {
    pub(crate) journal: Journal,
    /// The state to begin with.
    pub(crate) state: State,
    /// What was spent on what the conversation went back from.
    pub(crate) spent_beside: MicroUsd,
}

/// Where a session is after it went back.
pub(crate) struct Earlier {
    pub(crate) state: State,
    pub(crate) pen: Pen,
    /// What was spent on what it went back from.
    pub(crate) spent: MicroUsd,
}

/// An event that was decided.
pub(crate) struct Decided<'a> {
    pub(crate) state: &'a State,
    pub(crate) settings: &'a Settings,
    pub(crate) effects: &'a [Effect],
}

impl Book {
    /// What must be written now. Text is held back, joined to what is already held; raw wire events
    /// and words of progress are not written at all.
    fn hold(&mut self, event: &Event) -> Option<Event> {
        match event {
            Event::ToolProgressed { .. } | Event::ModelDelta { delta: Delta::Raw(_), .. } => {
                return None;
            }
            Event::ModelDelta {
                delta: Delta::Text(_) | Delta::Thinking(_) | Delta::CallInput(_),
                ..
            } => {}
            _ => return Some(event.clone()),
        }
        match &mut self.pending {
            None => self.pending = Some(event.clone()),
            Some(pending) => match same_text(pending, event) {
                Some((held, more)) if held.len() < HELD_BYTES_MAX => held.push_str(more),
                _ => return Some(event.clone()),
            },
        }
        None
    }

    /// Writes what is held, then this and what follows from it, as one: all of it will be there or
    /// nothing. With the operating system in microseconds.
    fn write(&mut self, event: Option<&Event>, follows: &[Note]) -> Result<(), JournalError> {
        if let Some(keeper) = &self.keeper {
            self.writer.flushed(keeper.upto(), Ok(()))?;
        }
        let (notes, pending) = (std::mem::take(&mut self.notes), self.pending.take());
        let held = notes.iter().map(NewItem::Note);
        let events = pending.iter().chain(event).map(NewItem::Event);
        let follows = follows.iter().map(NewItem::Note);
        let items: Vec<NewItem<'_>> = held.chain(events).chain(follows).collect();
        let seq = self.writer.write(clock::unix_millis(), &items)?;
        self.place.count.store(seq, Ordering::Relaxed);
        if let Some(keeper) = &self.keeper {
            keeper.wrote(seq);
            if self.writer.doubtful_bytes() > DOUBTFUL_BYTES {
                // Nobody waits for it.
                drop(keeper.keep());
            }
        }
        Ok(())
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
/// Written bytes over which the disk is waited for although nothing depends on it yet.
const DOUBTFUL_BYTES: usize = 1024 * 1024;
/// Written bytes over which nothing happens before the disk has them.
const DOUBTFUL_BYTES_MAX: usize = 64 * 1024 * 1024;
/// A disk that takes longer does not answer any more.
const DISK_MAX: Duration = Duration::from_secs(60);
