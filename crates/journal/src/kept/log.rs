//! Which file was changed behind which record. Lines as in a journal, each with length and checksum.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::JournalError;
use crate::record::{frame, unframe};
use crate::writer::Durability;

/// A change that was announced. It may not have been made: the process may have died before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changed {
    /// The last record before it.
    pub record: u64,
    /// The file.
    pub path: PathBuf,
    /// What it held.
    pub before: Image,
    /// What it was to hold.
    pub after: Image,
    /// The bits of its mode before.
    pub mode: Option<u32>,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Image {
    /// It is not there.
    Absent,
    /// A content, by the name of its digest.
    Content(String),
    /// Something that was too large to keep.
    NotKept,
}

/// The conversation went back: records behind this one are numbered anew.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Back {
    pub(super) back_to: u64,
}

#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) changes: Vec<Changed>,
    /// Where the conversation went back: how many changes were there then, and to which record.
    pub(super) backs: Vec<(usize, u64)>,
    /// Bytes of all contents.
    pub(super) bytes: u64,
    file: Option<File>,
    /// The last line was torn: the next one must not be joined to it.
    is_torn: bool,
}

impl Log {
    pub(super) fn read(path: &Path) -> Result<Self, JournalError> {
        let text = match std::fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            read => read.map_err(JournalError::disk(path, "read"))?,
        };
        let (mut changes, mut backs): (Vec<Changed>, Vec<(usize, u64)>) = Default::default();
        for rec in text.split(|byte| *byte == b'\n').filter_map(unframe) {
            if let Ok(changed) = serde_json::from_slice(rec) {
                changes.push(changed);
            } else if let Ok(Back { back_to }) = serde_json::from_slice(rec) {
                backs.push((changes.len(), back_to));
            }
        }
        let is_torn = !text.is_empty() && !text.ends_with(b"\n");
        let blobs = path.with_file_name("blobs");
        let sizes = std::fs::read_dir(blobs).into_iter().flatten().filter_map(Result::ok);
        let bytes = sizes.filter_map(|entry| entry.metadata().ok()).map(|found| found.len()).sum();
        Ok(Self { changes, backs, bytes, file: None, is_torn })
    }

    pub(super) fn append(
        &mut self,
        path: &Path,
        changed: Changed,
        durability: Durability,
    ) -> Result<(), JournalError> {
        if changed.path.to_str().is_none() {
            let words = "its name is not text, so it could not be found again";
            return Err(JournalError::disk(&changed.path, "kept")(io::Error::other(words)));
        }
        self.put(path, &changed, durability)?;
        self.changes.push(changed);
        Ok(())
    }

    pub(super) fn append_back(
        &mut self,
        path: &Path,
        back_to: u64,
        durability: Durability,
    ) -> Result<(), JournalError> {
        self.put(path, &Back { back_to }, durability)?;
        self.backs.push((self.changes.len(), back_to));
        Ok(())
    }

    fn put(
        &mut self,
        path: &Path,
        line: &impl Serialize,
        durability: Durability,
    ) -> Result<(), JournalError> {
        let rec = serde_json::to_vec(line)
            .map_err(|source| JournalError::Unwritable { path: path.to_owned(), source })?;
        let mut line = if core::mem::take(&mut self.is_torn) { vec![b'\n'] } else { Vec::new() };
        line.extend(frame(&rec));
        let written = self.open(path).and_then(|file| {
            file.write_all(&line)?;
            match durability {
                Durability::Written => Ok(()),
                Durability::Synced => file.sync_data(),
            }
        });
        if let Err(error) = written {
            self.is_torn = true;
            return Err(JournalError::disk(path, "written")(error));
        }
        Ok(())
    }

    fn open(&mut self, path: &Path) -> io::Result<&mut File> {
        if self.file.is_none() {
            if let Some(folder) = path.parent() {
                std::fs::create_dir_all(folder)?;
            }
            let mut options = OpenOptions::new();
            self.file = Some(options.append(true).create(true).mode(0o600).open(path)?);
        }
        self.file.as_mut().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}
