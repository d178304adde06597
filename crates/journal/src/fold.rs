//! Records to the state to continue from: the records, folded through the engine.
//!
//! The effects are dropped: a replayed session starts nothing. Replay is exact, so the settings
//! must be those the session ran with.

use std::io::BufRead;
use std::path::Path;

use windlass_engine::{Settings, State, step};

use crate::error::JournalError;
use crate::reader::Reader;
use crate::record::{Damage, VERSION};

/// What a journal amounts to.
#[derive(Debug)]
pub struct Folded {
    /// The state after the last record.
    pub state: State,
    /// The number of the last record; zero if there is none.
    pub seq: u64,
    /// Bytes of whole lines.
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
        Ok(reader) => fold_reader(reader, path, settings),
        Err(JournalError::Disk { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            fold_reader(Reader::new(&b""[..]), path, settings)
        }
        Err(error) => Err(error),
    }
}

pub(crate) fn fold_reader<R: BufRead>(
    mut reader: Reader<R>,
    path: &Path,
    settings: &Settings,
) -> Result<Folded, JournalError> {
    let mut state = State::new(settings);
    let mut damages = Vec::new();
    while let Some(line) = reader.next_line().map_err(JournalError::disk(path, "read"))? {
        match line {
            Ok(record) => state = step(state, record.event, settings).state,
            Err(Damage::Newer(found)) => {
                let path = path.to_owned();
                return Err(JournalError::Newer { path, found, known: VERSION });
            }
            Err(damage) if damages.len() < DAMAGES_MAX => damages.push((reader.line(), damage)),
            Err(_) => {}
        }
    }
    Ok(Folded {
        state,
        seq: reader.seq(),
        whole_bytes: reader.whole_bytes(),
        torn_bytes: reader.torn_bytes(),
        damages,
    })
}
