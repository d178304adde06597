//! Write ahead: an event is written before its effects are performed, and on the disk before those
//! that cannot be taken back.
//!
//! A request, a tool that changes something and the end of a run wait for the disk; all other records
//! ride on the next such wait ([`Keeper`]). Pieces of text change no decision, so they are grouped
//! and written with the next event that does; raw wire events and words of progress are not written
//! at all. When the disk fails, the event in hand is not acted on and the session ends; what is not safe
//! is saved in another file where that can be done.

pub(crate) mod durability;
mod journal_notes;

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;
use windlass_engine::{Effect, Event, Settings, State};
use windlass_journal::{
    Durability, FoldedJournal, JournalEntry, JournalError, JournalHead, JournalNote,
    JournalOpenOptions, JournalWriter, LockedJournal, NewRecordItem, ReplayStep,
};
use windlass_vocabulary::{Delta, EffectClass, MicroUsd};

use self::durability::{DurabilityGate, JournalSyncer};
use self::journal_notes::{JournalNoteCollector, effect_class};
use crate::clock;
use crate::joinable_delta::find_joinable_delta;
use crate::journal_location::JournalLocation;
use crate::notices::NoticeSender;
use crate::rewind::FileHistory;
use crate::transcript_writer::SessionTranscriptWriter;

/// The journal of a session, if it has one.
pub(crate) enum SessionJournal {
    /// Nothing is written down.
    Off,
    /// Events are written down here.
    On(Box<OpenJournal>),
    /// It can no longer be written.
    Broken(JournalError),
}

/// A journal that can be written.
pub(crate) struct OpenJournal {
    writer: JournalWriter,
    /// Text that arrived since the last record.
    pending_text: Option<Event>,
    /// What follows from events and is not written yet.
    notes: Vec<JournalNote>,
    note_collector: JournalNoteCollector,
    is_continued: bool,
    location: JournalLocation,
    /// Waits for the disk, if records are to survive a loss of power.
    syncer: Option<JournalSyncer>,
    /// Why a file was left for the next one, in words.
    abandoned_reason: Option<String>,
}

impl SessionJournal {
    /// Opens the journal, if there is to be one, and gives what to begin with.
    pub(crate) fn open(
        place: Option<JournalLocation>,
        settings: &Arc<Settings>,
        teller: &NoticeSender,
        pen: &mut SessionTranscriptWriter,
    ) -> Result<OpenedJournal, JournalError> {
        match place {
            None => {
                pen.begin_writing(None);
                let (journal, state) = (Self::Off, State::new(settings));
                Ok(OpenedJournal { journal, state, spent_before_rewind: MicroUsd(0) })
            }
            Some(place) => Self::open_at((place, None), settings, teller, pen),
        }
    }

    /// Opens the journal that lies here, which may be held already.
    fn open_at(
        (place, held): (JournalLocation, Option<LockedJournal>),
        settings: &Arc<Settings>,
        teller: &NoticeSender,
        pen: &mut SessionTranscriptWriter,
    ) -> Result<OpenedJournal, JournalError> {
        let mut opening = JournalOpenOptions::new(place.durability);
        opening.head = JournalHead { created: opening.at, ..place.head.clone() };
        let mut spent_beside = MicroUsd(0);
        let shared = RefCell::new(&mut *pen);
        let see = |step: ReplayStep<'_>| shared.borrow_mut().replay(step.effects);
        let met = |entry: &JournalEntry| {
            if let JournalEntry::Head(head) = entry {
                spent_beside = spent_beside.max(head.spent);
            }
            shared.borrow_mut().read_entry(entry);
        };
        let (writer, folded) = match held {
            Some(held) => JournalWriter::open_from_lock(held, opening, settings, see, met)?,
            None => JournalWriter::open_with_entries(&place.path, opening, settings, see, met)?,
        };
        let FoldedJournal { state, settings: _, seq, whole_bytes: _, torn_bytes, damages } = folded;
        let path = place.path.display();
        for (line, damage) in damages {
            teller.warn(format!("line {line} of the journal {path} was skipped: {damage}"));
        }
        if torn_bytes > 0 {
            teller.warn(format!("the last record of the journal {path} was torn and is left out"));
        }
        pen.begin_writing(Some((place.path.clone(), Arc::clone(settings))));
        let scribe = JournalNoteCollector::new(&state, place.price_table.clone());
        place.last_seq.store(seq, Ordering::Relaxed);
        let keeper = match place.durability {
            Durability::Written => None,
            Durability::Synced => {
                Some(JournalSyncer::new(writer.flusher()?, seq, Arc::clone(&place.latency)))
            }
        };
        let (pending, notes, is_continued) = (None, Vec::new(), seq > 0);
        let left = None;
        let book = OpenJournal {
            writer,
            pending_text: pending,
            notes,
            note_collector: scribe,
            is_continued,
            location: place,
            syncer: keeper,
            abandoned_reason: left,
        };
        Ok(OpenedJournal {
            journal: Self::On(Box::new(book)),
            state,
            spent_before_rewind: spent_beside,
        })
    }

    /// Goes back to this record and is opened anew there. If there is nothing behind it, or it cannot
    /// go back, it goes on as before; if nobody can say, it is broken.
    pub(crate) async fn rewind_to(
        self,
        to: u64,
        undo: Arc<FileHistory>,
        settings: &Arc<Settings>,
        teller: &NoticeSender,
        mut pen: SessionTranscriptWriter,
    ) -> (Self, Result<Option<RewoundState>, JournalError>) {
        let journal = self.wait_until_synced().await;
        let mut book = match journal {
            Self::On(book) if book.abandoned_reason.is_none() => book,
            Self::Off | Self::On(_) | Self::Broken(_) => return (journal, Ok(None)),
        };
        let (settings, teller) = (Arc::clone(settings), teller.clone());
        let going = spawn_blocking(move || {
            // What is held back belongs to what is left behind.
            let spent = match book.writer.rewind(to, &settings, undo.store()) {
                Ok(Some(spent)) => spent,
                Ok(None) => return (Self::On(book), Ok(None)),
                Err(error) => return (Self::On(book), Err(error)),
            };
            let OpenJournal { writer, location: place, syncer: keeper, .. } = *book;
            // Whoever still waits at a gate waits in vain.
            drop(keeper);
            let place = (place, Some(writer.into_locked()));
            match Self::open_at(place, &settings, &teller, &mut pen) {
                Ok(OpenedJournal { journal, state, .. }) => {
                    (journal, Ok(Some(RewoundState { state, transcript: pen, spent })))
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
    pub(crate) fn add_note(&mut self, note: JournalNote) {
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
            Self::On(book) => book.abandoned_reason.is_some(),
            Self::Broken(_) => true,
        }
    }

    /// How the disk failed, in words.
    pub(crate) fn failure_message(&self) -> String {
        match self {
            Self::Broken(error) => format!("the session ends, because {error}"),
            Self::On(book) => match &book.abandoned_reason {
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
    pub(crate) fn buffer_event(&mut self, event: &Event) -> Option<Event> {
        match self {
            Self::On(book) => book.buffer_event(event),
            Self::Off | Self::Broken(_) => None,
        }
    }

    /// Writes down what was held of an event together with what follows from it, before its effects
    /// are performed. What need not be written yet goes with the next event.
    pub(crate) fn write(self, event: Option<&Event>, step: &DecidedStep<'_>) -> Self {
        let Self::On(mut book) = self else { return self };
        let DecidedStep { state, settings, effects } = *step;
        let mut notes = Vec::new();
        let is_urgent = book.note_collector.collect_notes(state, settings, effects, &mut notes);
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
    pub(crate) fn build_gate(&self, effect: &Effect, state: &State) -> DurabilityGate {
        let Self::On(book) = self else { return DurabilityGate::open() };
        let Some(keeper) = &book.syncer else { return DurabilityGate::open() };
        let cannot_be_undone = match effect {
            Effect::CallModel(_) | Effect::Summarize { .. } => true,
            Effect::StartTool { ticket, .. } => effect_class(state, *ticket) != EffectClass::Pure,
            Effect::CancelModel { .. }
            | Effect::CancelTool { .. }
            | Effect::AskPermission { .. }
            | Effect::RunHook { .. }
            | Effect::Spill { .. }
            | Effect::Keep { .. }
            | Effect::Prefetch { .. }
            | Effect::SetTimer { .. }
            | Effect::Tell(_)
            | Effect::Finish(_) => false,
        };
        if cannot_be_undone { keeper.request_sync() } else { DurabilityGate::open() }
    }

    /// Is more written than may be in doubt?
    pub(crate) fn is_overdue(&self) -> bool {
        matches!(self, Self::On(book) if book.writer.unsynced_bytes() > UNSYNCED_BYTES_MAX)
    }

    /// Waits until everything that was written is safe.
    pub(crate) async fn wait_until_synced(self) -> Self {
        let mut journal = self;
        loop {
            let Self::On(book) = &journal else { return journal };
            let Some(keeper) = &book.syncer else { return journal };
            match timeout(SYNC_WAIT_MAX, keeper.wait_until_synced()).await {
                Ok(true) => return journal,
                Ok(false) => journal = journal.recover().await,
                Err(_) => {
                    let error = book.writer.overdue_error(SYNC_WAIT_MAX);
                    return Self::Broken(error);
                }
            }
        }
    }

    /// Returns when the disk has failed to keep something.
    pub(crate) async fn wait_for_failure(&self) {
        match self {
            Self::On(book) if let Some(keeper) = &book.syncer => keeper.wait_for_failure().await,
            Self::Off | Self::On(_) | Self::Broken(_) => std::future::pending().await,
        }
    }

    /// The disk failed to keep something: it is saved in another file, or the journal is broken.
    /// Whatever waited for it to be safe is not done.
    pub(crate) async fn recover(self) -> Self {
        let Self::On(mut book) = self else { return self };
        let Some(keeper) = book.syncer.take_if(|keeper| keeper.is_failing()) else {
            return Self::On(book);
        };
        let mend = move || {
            let (upto, seq) = (keeper.synced_seq(), book.writer.seq());
            book.writer.complete_flush(upto, Ok(()))?;
            book.writer.complete_flush(upto, Err(keeper.take_failure()))?;
            let waits = Arc::clone(&book.location.latency);
            book.syncer = Some(JournalSyncer::new(book.writer.flusher()?, seq, waits));
            book.abandoned_reason = Some(book.writer.take_warnings().join("; "));
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
            if let Self::On(mut book) = Self::On(book).wait_until_synced().await
                && let Some(keeper) = &book.syncer
            {
                let _ = book.writer.complete_flush(keeper.synced_seq(), Ok(()));
                let _ = book.writer.write_sync_marker(clock::unix_millis());
            }
        }
    }
}

/// A journal that was opened.
pub(crate) struct OpenedJournal {
    pub(crate) journal: SessionJournal,
    /// The state to begin with.
    pub(crate) state: State,
    /// What was spent on what the conversation went back from.
    pub(crate) spent_before_rewind: MicroUsd,
}

/// Where a session is after it went back.
pub(crate) struct RewoundState {
    pub(crate) state: State,
    pub(crate) transcript: SessionTranscriptWriter,
    /// What was spent on what it went back from.
    pub(crate) spent: MicroUsd,
}

/// An event that was decided.
pub(crate) struct DecidedStep<'a> {
    pub(crate) state: &'a State,
    pub(crate) settings: &'a Settings,
    pub(crate) effects: &'a [Effect],
}

impl OpenJournal {
    /// What must be written now. Text is held back, joined to what is already held; raw wire events
    /// and words of progress are not written at all.
    fn buffer_event(&mut self, event: &Event) -> Option<Event> {
        if let Event::ToolProgressed { .. } | Event::ModelDelta { delta: Delta::Raw(_), .. } = event
        {
            return None;
        }
        let Event::ModelDelta {
            delta: Delta::Text(_) | Delta::Thinking(_) | Delta::CallInput(_),
            ..
        } = event
        else {
            return Some(event.clone());
        };
        match &mut self.pending_text {
            None => self.pending_text = Some(event.clone()),
            Some(pending) => match find_joinable_text(pending, event) {
                Some((held, more)) if held.len() < BUFFERED_BYTES_MAX => held.push_str(more),
                _ => return Some(event.clone()),
            },
        }
        None
    }

    /// Writes what is held, then this and what follows from it, as one: all of it will be there or
    /// nothing. With the operating system in microseconds.
    fn write(
        &mut self,
        event: Option<&Event>,
        follows: &[JournalNote],
    ) -> Result<(), JournalError> {
        if let Some(keeper) = &self.syncer {
            self.writer.complete_flush(keeper.synced_seq(), Ok(()))?;
        }
        let (notes, pending) = (std::mem::take(&mut self.notes), self.pending_text.take());
        let held = notes.iter().map(NewRecordItem::Note);
        let events = pending.iter().chain(event).map(NewRecordItem::Event);
        let follows = follows.iter().map(NewRecordItem::Note);
        let items: Vec<NewRecordItem<'_>> = held.chain(events).chain(follows).collect();
        let seq = self.writer.write_items(clock::unix_millis(), &items)?;
        self.location.last_seq.store(seq, Ordering::Relaxed);
        if let Some(keeper) = &self.syncer {
            keeper.record_written(seq);
            if self.writer.unsynced_bytes() > UNSYNCED_BYTES {
                // Nobody waits for it.
                drop(keeper.request_sync());
            }
        }
        Ok(())
    }
}

/// The two texts, when the second event continues the first.
fn find_joinable_text<'a>(
    held: &'a mut Event,
    next: &'a Event,
) -> Option<(&'a mut String, &'a str)> {
    match (held, next) {
        (
            Event::ModelDelta { attempt: a, delta: held },
            Event::ModelDelta { attempt: b, delta: more },
        ) if a == b => find_joinable_delta(held, more),
        _ => None,
    }
}

/// Text held back at most.
const BUFFERED_BYTES_MAX: usize = 64 * 1024;
/// Written bytes over which the disk is waited for although nothing depends on it yet.
const UNSYNCED_BYTES: usize = 1024 * 1024;
/// Written bytes over which nothing happens before the disk has them.
const UNSYNCED_BYTES_MAX: usize = 64 * 1024 * 1024;
/// A disk that takes longer does not answer any more.
const SYNC_WAIT_MAX: Duration = Duration::from_secs(60);
