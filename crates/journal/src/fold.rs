//! Records to the state to continue from: the events, folded through the engine.
//!
//! The effects are dropped: a replayed session starts nothing. Replay is exact, so the settings
//! must be those the session ran with.

use std::path::Path;

use windlass_engine::{Effect, Settings, State, Step, step};

use crate::error::JournalError;
use crate::reader::{Entry, Reader};
use crate::record::{Damage, Item, Record, VERSION};

/// What a journal amounts to.
#[derive(Debug)]
pub struct Folded {
    /// The state after the last record.
    pub state: State,
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
    mut reader: Reader,
    settings: &Settings,
    see: impl FnMut(Replayed<'_>),
) -> Result<Folded, JournalError> {
    let (state, damages) = fold_entries(&mut reader, settings, see, |_| {})?;
    Ok(Folded {
        state,
        seq: reader.seq(),
        whole_bytes: reader.whole_bytes(),
        torn_bytes: reader.torn_bytes(),
        damages,
    })
}

/// Folds everything that is left to read; heads and claims are shown to `meet`.
pub(crate) fn fold_entries(
    reader: &mut Reader,
    settings: &Settings,
    mut see: impl FnMut(Replayed<'_>),
    mut meet: impl FnMut(Entry),
) -> Result<(State, Vec<(u64, Damage)>), JournalError> {
    let mut state = State::new(settings);
    let mut damages = Vec::new();
    while let Some(entry) = reader.next_entry()? {
        match entry {
            Ok(Entry::Record(Record { seq, at, item: Item::Event(event) })) => {
                let Step { state: next, effects } = step(state, event, settings);
                state = next;
                see(Replayed { seq, at, state: &state, effects: &effects });
            }
            Ok(other) => meet(other),
            Err(Damage::Newer(found)) => {
                let path = reader.path().to_owned();
                return Err(JournalError::Newer { path, found, known: VERSION });
            }
            Err(damage) if damages.len() < DAMAGES_MAX => damages.push((reader.line(), damage)),
            Err(_) => {}
        }
    }
    Ok((state, damages))
}
