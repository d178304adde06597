//! Appends records. One writer per journal: the file is locked as long as the writer lives, and the
//! lock dies with the process.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use windlass_engine::{Event, Settings};

use crate::error::{JournalError, check_file};
use crate::fold::{Folded, fold_reader};
use crate::reader::Reader;
use crate::record::encode;

/// What a record that was written survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// The end of this process: records are with the operating system.
    #[default]
    Written,
    /// The loss of power: records are on the disk.
    Synced,
}

/// The writing end of a journal.
#[derive(Debug)]
pub struct Writer {
    file: File,
    path: PathBuf,
    durability: Durability,
    seq: u64,
    whole_bytes: u64,
}

impl Writer {
    /// Opens or creates a journal, replays what is in it, and drops a torn last line.
    ///
    /// # Errors
    ///
    /// When another process writes it, a later version wrote it, or the disk says no.
    pub fn open(
        path: &Path,
        durability: Durability,
        settings: &Settings,
    ) -> Result<(Self, Folded), JournalError> {
        check_file(path)?;
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        let file = options.open(path).map_err(JournalError::disk(path, "opened"))?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => JournalError::Busy { path: path.to_owned() },
            TryLockError::Error(source) => JournalError::disk(path, "locked")(source),
        })?;
        let folded = fold_reader(Reader::new(BufReader::new(&file)), path, settings)?;
        if folded.torn_bytes > 0 {
            file.set_len(folded.whole_bytes).map_err(JournalError::disk(path, "mended"))?;
        }
        if durability == Durability::Synced {
            sync_directory(path).map_err(JournalError::disk(path, "entered in its directory"))?;
        }
        let path = path.to_owned();
        let (seq, whole_bytes) = (folded.seq, folded.whole_bytes);
        Ok((Self { file, path, durability, seq, whole_bytes }, folded))
    }

    /// Appends records of these events, in order, all written at this time. When it returns they
    /// are as durable as was asked for. Blocks.
    ///
    /// # Errors
    ///
    /// When the disk says no. Then none of the events counts as written and the writer must not be
    /// used again: what the disk kept of them is not known.
    pub fn append(&mut self, at: u64, events: &[&Event]) -> Result<(), JournalError> {
        let mut lines = String::new();
        let mut seq = self.seq;
        for event in events {
            seq += 1;
            lines.push_str(
                &encode(seq, at, event).map_err(|source| JournalError::Unwritable {
                    path: self.path.clone(),
                    source,
                })?,
            );
        }
        if let Err(source) = self.write(lines.as_bytes()) {
            // Best effort, so that half a record does not stay; a reader would drop it anyway.
            let _ = self.file.set_len(self.whole_bytes);
            return Err(JournalError::disk(&self.path, "written")(source));
        }
        self.seq = seq;
        self.whole_bytes += u64::try_from(lines.len()).unwrap_or(u64::MAX);
        Ok(())
    }

    /// What records survive.
    #[must_use]
    pub fn durability(&self) -> Durability {
        self.durability
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.file.write_all(bytes)?;
        match self.durability {
            Durability::Written => Ok(()),
            Durability::Synced => self.file.sync_data(),
        }
    }
}

/// A new file is safe only when its directory entry is.
fn sync_directory(path: &Path) -> std::io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}
