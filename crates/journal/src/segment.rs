//! The files of one journal: the first, and those that follow when the disk failed under it.
//!
//! A journal is one file. When the disk cannot make that file durable, the next one continues it:
//! `session.jsonl`, `session.2.jsonl`, `session.3.jsonl`. Its head says which record of the files
//! before is the last that counts.

use std::path::{Path, PathBuf};

use crate::disk::{Access, Disk};
use crate::error::JournalError;
use crate::lines::Lines;
use crate::record::{Group, Head, Line};

/// The path of the file with this number.
pub(crate) fn path_of(first: &Path, number: u64) -> PathBuf {
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
pub(crate) fn after_first(disk: &dyn Disk, first: &Path) -> Vec<(u64, PathBuf)> {
    (2..=SEGMENTS_MAX)
        .map(|number| (number, path_of(first, number)))
        .take_while(|(_, path)| disk.is_there(path))
        .collect()
}

/// The last record that counts in the files before this one. A file in which nothing can be read
/// was never acknowledged: everything before it counts.
pub(crate) fn begins_after(disk: &dyn Disk, path: &Path) -> Result<u64, JournalError> {
    let file = disk.open(path, Access::Read).map_err(JournalError::disk(path, "opened"))?;
    let mut lines = Lines::new(file);
    while let Some(line) = lines.next_line().map_err(JournalError::disk(path, "read"))? {
        match line {
            Ok(Line::Head(Head { after, .. })) => return Ok(after),
            Ok(Line::Group(Group { seq, .. })) => return Ok(seq.saturating_sub(1)),
            Ok(Line::Claim(_)) | Err(_) => {}
        }
    }
    Ok(u64::MAX)
}

/// Files one journal may have.
pub(crate) const SEGMENTS_MAX: u64 = 100;
