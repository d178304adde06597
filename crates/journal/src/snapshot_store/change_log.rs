//! Logs which file was changed after which record. Lines have the format of journal lines.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::snapshot_span::{SnapshotSpan, SpanLine};
use crate::durability::Durability;
use crate::error::JournalError;
use crate::record::{frame, unframe};

/// A change that was announced. The process may have died before it made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoggedFileChange {
    /// The last record before it.
    pub record: u64,
    pub path: PathBuf,
    pub before: FileImage,
    /// The intended content.
    pub after: FileImage,
    /// The mode bits before.
    pub mode: Option<u32>,
    /// The rewind that made it: changes of the same one have the same number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rewind: Option<usize>,
}

impl LoggedFileChange {
    /// Could we have logged this? A log from elsewhere may name files that a restore must not
    /// touch, and contents outside the store.
    fn is_possible(&self) -> bool {
        let is_plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
        let has_plain_content = |image: &FileImage| match image {
            FileImage::Content(name) => is_blob_name(name),
            FileImage::Absent | FileImage::NotKept => true,
        };
        self.path.is_absolute()
            && self.path.file_name().is_some()
            && self.path.components().all(is_plain)
            && has_plain_content(&self.before)
            && has_plain_content(&self.after)
    }
}

/// A SHA-256 digest in hexadecimal.
fn is_blob_name(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileImage {
    Absent,
    /// A stored content, by its hash.
    Content(String),
    /// Too large to store.
    NotKept,
}

/// The conversation was rewound: numbers after this record are reused.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RewindMark {
    pub(super) back_to: u64,
}

/// The record of a rewind, and the length of the log at that time.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoggedRewind {
    pub(super) back_to: u64,
    pub(super) logged: LogLengths,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LogLengths {
    pub(super) changes: usize,
    pub(super) spans: usize,
}

#[derive(Debug, Default)]
pub(super) struct ChangeLog {
    pub(super) changes: Vec<LoggedFileChange>,
    /// The number of spans that were logged before each change.
    pub(super) spans_before: Vec<usize>,
    pub(super) spans: Vec<SnapshotSpan>,
    pub(super) rewinds: Vec<LoggedRewind>,
    /// Bytes of all contents.
    pub(super) bytes: u64,
    file: Option<File>,
    /// The last line is incomplete: the next one must not be joined to it.
    is_torn: bool,
}

impl ChangeLog {
    pub(super) fn load(path: &Path) -> Result<Self, JournalError> {
        let text = match std::fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            read => read.map_err(JournalError::disk_error(path, "read"))?,
        };
        let mut log = Self::default();
        for rec in text.split(|byte| *byte == b'\n').filter_map(unframe) {
            if let Ok(changed) = serde_json::from_slice::<LoggedFileChange>(rec) {
                if changed.is_possible() {
                    log.take_change(changed);
                }
            } else if let Ok(RewindMark { back_to }) = serde_json::from_slice(rec) {
                log.take_rewind(back_to);
            } else if let Ok(line) = serde_json::from_slice::<SpanLine>(rec) {
                log.take_span_line(line);
            }
        }
        log.is_torn = !text.is_empty() && !text.ends_with(b"\n");
        let blobs = path.with_file_name("blobs");
        let sizes = std::fs::read_dir(blobs).into_iter().flatten().filter_map(Result::ok);
        log.bytes =
            sizes.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum();
        Ok(log)
    }

    fn take_change(&mut self, changed: LoggedFileChange) {
        self.changes.push(changed);
        self.spans_before.push(self.spans.len());
    }

    fn take_rewind(&mut self, back_to: u64) {
        let logged = LogLengths { changes: self.changes.len(), spans: self.spans.len() };
        self.rewinds.push(LoggedRewind { back_to, logged });
    }

    /// The first log entries of records that count. Entries before those may belong to rewound
    /// records with the same number.
    pub(super) fn first_after_rewind(&self, record: u64) -> LogLengths {
        let rewind = self.rewinds.iter().rev().find(|rewind| rewind.back_to <= record);
        rewind.map(|rewind| rewind.logged).unwrap_or_default()
    }

    pub(super) fn append_change(
        &mut self,
        path: &Path,
        changed: LoggedFileChange,
        durability: Durability,
    ) -> Result<(), JournalError> {
        if changed.path.to_str().is_none() {
            let words = "its name is not text, so it could not be found again";
            return Err(JournalError::disk_error(&changed.path, "kept")(io::Error::other(words)));
        }
        self.append_line(path, &changed, durability)?;
        self.take_change(changed);
        Ok(())
    }

    pub(super) fn append_rewind(
        &mut self,
        path: &Path,
        back_to: u64,
        durability: Durability,
    ) -> Result<(), JournalError> {
        self.append_line(path, &RewindMark { back_to }, durability)?;
        self.take_rewind(back_to);
        Ok(())
    }

    pub(super) fn append_line(
        &mut self,
        path: &Path,
        line: &impl Serialize,
        durability: Durability,
    ) -> Result<(), JournalError> {
        let rec = serde_json::to_vec(line)
            .map_err(|source| JournalError::Unwritable { path: path.to_owned(), source })?;
        let mut line = if core::mem::take(&mut self.is_torn) { vec![b'\n'] } else { Vec::new() };
        line.extend(frame(&rec));
        let written = self.open_file(path).and_then(|file| {
            file.write_all(&line)?;
            match durability {
                Durability::Written => Ok(()),
                Durability::Synced => file.sync_data(),
            }
        });
        if let Err(error) = written {
            self.is_torn = true;
            return Err(JournalError::disk_error(path, "written")(error));
        }
        Ok(())
    }

    fn open_file(&mut self, path: &Path) -> io::Result<&mut File> {
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
