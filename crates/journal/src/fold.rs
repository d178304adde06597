//! Records to the state to continue from: the events, folded through the engine.
//!
//! The effects are dropped: a replayed session starts nothing. Replay is exact: each event is decided
//! under the settings that were in force when it happened, which the journal holds. Only a journal
//! that does not say is replayed under the settings given.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use windlass_engine::{Effect, Event, Settings, State, Step, step};

use crate::error::JournalError;
use crate::reader::{Entry, Reader};
use crate::realign::Realigner;
use crate::record::{Damage, Item, Record, VERSION};

/// What a journal amounts to.
#[derive(Debug)]
pub struct Folded {
    /// The state after the last record.
    pub state: State,
    /// The settings in force then.
    pub settings: Arc<Settings>,
    /// The number of the last record; zero if there is none.
    pub seq: u64,
    /// Bytes of whole lines in the last file.
    pub whole_bytes: u64,
    /// Bytes of a torn last line, which were left out.
    pub torn_bytes: u64,
    /// Lines that were skipped, by number, and why; at most [`DAMAGES_MAX`] are named.
    pub damages: Vec<(u64, Damage)>,
}

/// Damaged lines named in a [`Folded`].
pub const DAMAGES_MAX: usize = 100;

/// Replays a journal. A file that is not there yet is an empty journal.
///
/// # Errors
///
/// When the file cannot be read, or a later version wrote it.
pub fn fold(path: &Path, settings: &Settings) -> Result<Folded, JournalError> {
    match Reader::open(path) {
        Err(error) if error.is_missing() => {
            fold_reader(Reader::new(std::io::empty(), path), settings, |_| {})
        }
        reader => fold_reader(reader?, settings, |_| {}),
    }
}

/// Was a run under way when the last record was written?
///
/// # Errors
///
/// When the file cannot be read, or a later version wrote it.
pub fn is_unfinished(path: &Path, settings: &Settings) -> Result<bool, JournalError> {
    Ok(fold(path, settings)?.state.control.phase.is_running())
}

/// One step of a replay.
#[derive(Debug)]
pub struct Replayed<'a> {
    /// The event's number.
    pub seq: u64,
    /// When it was written.
    pub at: u64,
    /// The state after it.
    pub state: &'a State,
    /// What was to be done about it.
    pub effects: &'a [Effect],
}

/// Replays a journal and shows every step.
///
/// # Errors
///
/// When the file cannot be read, or a later version wrote it.
pub fn replay(
    reader: Reader,
    settings: &Settings,
    see: impl FnMut(Replayed<'_>),
) -> Result<Folded, JournalError> {
    fold_reader(reader, settings, see)
}

pub(crate) fn fold_reader(
    reader: Reader,
    settings: &Settings,
    see: impl FnMut(Replayed<'_>),
) -> Result<Folded, JournalError> {
    fold_entries(reader, settings, see, |_| {}).map(|(folded, _)| folded)
}

/// Folds everything that is left to read; heads, claims and notes are shown to `meet`. Gives the
/// reader back, at the end.
pub(crate) fn fold_entries(
    mut reader: Reader,
    settings: &Settings,
    see: impl FnMut(Replayed<'_>),
    meet: impl FnMut(Entry),
) -> Result<(Folded, Reader), JournalError> {
    let mut folding = Folding {
        state: State::new(settings),
        settings: Arc::new(settings.clone()),
        is_begun: false,
        damages: Vec::new(),
        realigner: Realigner::default(),
        see,
        meet,
    };
    let mut is_at_end = false;
    for _ in 0..ALONE {
        match reader.next_entry()? {
            Some(entry) => {
                folding = folding.take((reader.line(), entry), reader.path())?;
            }
            None => {
                is_at_end = true;
                break;
            }
        }
    }
    if !is_at_end {
        (folding, reader) = fold_beside(folding, reader)?;
    }
    let Folding { state, settings, damages, .. } = folding;
    let (whole_bytes, torn_bytes) = (reader.whole_bytes(), reader.torn_bytes());
    let seq = reader.seq();
    Ok((Folded { state, settings, seq, whole_bytes, torn_bytes, damages }, reader))
}

type Numbered = (u64, Result<Entry, Damage>);

/// What was folded so far.
struct Folding<See, Meet> {
    state: State,
    /// The settings in force.
    settings: Arc<Settings>,
    /// Something has happened.
    is_begun: bool,
    damages: Vec<(u64, Damage)>,
    realigner: Realigner,
    see: See,
    meet: Meet,
}

impl<See: FnMut(Replayed<'_>), Meet: FnMut(Entry)> Folding<See, Meet> {
    fn take(mut self, (line, entry): Numbered, path: &Path) -> Result<Self, JournalError> {
        match entry {
            Ok(Entry::Record(Record { seq, at, item: Item::Event(event) })) => {
                for event in self.realigner.before(&self.state, &event).into_iter().flatten() {
                    self = self.step(seq, at, event);
                }
                let event = self.realigner.align(&self.state, event);
                self = self.step(seq, at, event);
            }
            Ok(other) => {
                if let Entry::Record(Record { item: Item::Note(note), .. }) = &other {
                    self.realigner.note(note);
                }
                (self.meet)(other);
            }
            Err(Damage::Newer(found)) => {
                return Err(JournalError::Newer { path: path.to_owned(), found, known: VERSION });
            }
            Err(damage) => {
                if !matches!(damage, Damage::Repeated(_) | Damage::Fenced(_)) {
                    self.realigner.lost();
                }
                if self.damages.len() < DAMAGES_MAX {
                    self.damages.push((line, damage));
                }
            }
        }
        Ok(self)
    }

    fn step(mut self, seq: u64, at: u64, event: Event) -> Self {
        if let Event::Configured(settings) = &event {
            self.settings = Arc::new(Settings::clone(settings));
            if !self.is_begun {
                // The session began with these.
                self.state = State::new(settings);
            }
        }
        self.is_begun = true;
        let Step { state, effects } = step(self.state, event, &self.settings);
        self.state = state;
        (self.see)(Replayed { seq, at, state: &self.state, effects: &effects });
        self
    }
}

/// Folds the rest of a long journal while another thread reads it: each takes about as long.
fn fold_beside<See: FnMut(Replayed<'_>), Meet: FnMut(Entry)>(
    mut folding: Folding<See, Meet>,
    mut reader: Reader,
) -> Result<(Folding<See, Meet>, Reader), JournalError> {
    let path = reader.path().to_owned();
    let (sender, receiver) = sync_channel::<Vec<Numbered>>(BATCHES);
    std::thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let mut is_at_end = false;
            while !is_at_end {
                let mut batch = Vec::with_capacity(BATCH);
                while batch.len() < BATCH && !is_at_end {
                    match reader.next_entry()? {
                        Some(entry) => batch.push((reader.line(), entry)),
                        None => is_at_end = true,
                    }
                }
                // An error means that nobody wants to know the rest.
                is_at_end |= sender.send(batch).is_err();
            }
            Ok(reader)
        });
        for entry in receiver.iter().flatten() {
            folding = folding.take(entry, &path)?;
        }
        match reading.join() {
            Ok(reader) => Ok((folding, reader?)),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Entries folded before another thread is worth its while.
const ALONE: usize = 500;
/// Entries handed over at once.
const BATCH: usize = 64;
/// Batches that may wait.
const BATCHES: usize = 4;
