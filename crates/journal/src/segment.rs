//! The files of one journal: the first, and those that follow after a disk failure or a rewind.
//!
//! A journal is normally one file. When that file cannot be synced, the next one continues it:
//! `session.jsonl`, `session.2.jsonl`, `session.3.jsonl`. Its head names the last record of the
//! earlier files that counts.

use std::path::{Path, PathBuf};

use crate::disk::{DiskOpenMode, JournalDisk, RealDisk};
use crate::error::JournalError;
use crate::line_reader::JournalLineReader;
use crate::record::{JournalHead, JournalLine, RecordGroup};

/// The path of the file with this number.
pub(crate) fn segment_path(first: &Path, number: u64) -> PathBuf {
    if number <= 1 {
        return first.to_owned();
    }
    let stem = first.file_stem().unwrap_or_default().to_string_lossy();
    let name = match first.extension() {
        Some(extension) => format!("{stem}.{number}.{}", extension.to_string_lossy()),
        None => format!("{stem}.{number}"),
    };
    first.with_file_name(name)
}

/// The files after the first, in order.
pub(crate) fn find_later_segments(disk: &dyn JournalDisk, first: &Path) -> Vec<(u64, PathBuf)> {
    (2..=SEGMENTS_MAX)
        .map(|number| (number, segment_path(first, number)))
        .take_while(|(_, path)| disk.exists(path))
        .collect()
}

/// Every file of a journal, in order.
#[must_use]
pub fn find_journal_files(first: &Path) -> Vec<PathBuf> {
    let later = find_later_segments(&RealDisk, first).into_iter().map(|(_, path)| path);
    std::iter::once(first.to_owned()).chain(later).collect()
}

/// The last record that counts in the files before this one. A file without a readable record was
/// never acknowledged, so everything before it counts.
pub(crate) fn read_preceding_seq(disk: &dyn JournalDisk, path: &Path) -> Result<u64, JournalError> {
    let file =
        disk.open(path, DiskOpenMode::Read).map_err(JournalError::disk_error(path, "opened"))?;
    let mut lines = JournalLineReader::new(file);
    while let Some(line) = lines.next_line().map_err(JournalError::disk_error(path, "read"))? {
        match line {
            Ok(JournalLine::Head(JournalHead { after, .. })) => return Ok(after),
            Ok(JournalLine::Group(RecordGroup { seq, .. })) => return Ok(seq.saturating_sub(1)),
            Ok(JournalLine::Claim(_)) | Err(_) => {}
        }
    }
    Ok(u64::MAX)
}

/// Limit on the files of one journal.
pub(crate) const SEGMENTS_MAX: u64 = 100;
