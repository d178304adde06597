//! Copies the file history of a session for a fork of it, which has the same records.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use super::SnapshotStore;
use super::change_log::{LoggedFileChange, RewindMark};
use super::snapshot_span::SpanLine;
use crate::disk::{RealDisk, replace_file};
use crate::error::JournalError;
use crate::record::{frame, unframe};

/// Copies what the session of this journal changed until a record (all, if `None`) to the history
/// of its fork. The original may be written meanwhile; contents are shared. Copies nothing if
/// nothing was changed.
pub fn fork_history(source: &Path, fork: &Path, until: Option<u64>) -> Result<(), JournalError> {
    let from = SnapshotStore::folder_for(source);
    let to = SnapshotStore::folder_for(fork);
    let text = match fs::read(from.join("log")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        read => read.map_err(JournalError::disk_error(&from, "read"))?,
    };
    let log = select_lines(&text, until.unwrap_or(u64::MAX));
    if log.is_empty() {
        return Ok(());
    }
    make_folder(&to)
        .and_then(|()| share_contents(&from.join("blobs"), &to.join("blobs")))
        .map_err(JournalError::disk_error(&to, "written"))?;
    // Last: without it, nothing refers to the contents.
    let path = to.join("log");
    replace_file(&RealDisk, &path, &log).map_err(JournalError::disk_error(&path, "written"))
}

/// The lines about records until this one. Spans get the numbers of their new places.
fn select_lines(text: &[u8], until: u64) -> Vec<u8> {
    let mut selected = Vec::new();
    let mut numbers: HashMap<usize, usize> = HashMap::new();
    for rec in text.split(|byte| *byte == b'\n').filter_map(unframe) {
        let is_wanted = if let Ok(change) = serde_json::from_slice::<LoggedFileChange>(rec) {
            change.record <= until
        } else if let Ok(mark) = serde_json::from_slice::<RewindMark>(rec) {
            mark.back_to <= until
        } else {
            let line = serde_json::from_slice::<SpanLine>(rec).ok();
            let line = line.and_then(|line| renumber(line, until, &mut numbers));
            let encoded = line.and_then(|line| serde_json::to_vec(&line).ok());
            selected.extend(encoded.map(|rec| frame(&rec)).unwrap_or_default());
            false
        };
        if is_wanted {
            selected.extend(frame(rec));
        }
    }
    selected
}

/// `None` for a span that is not copied.
fn renumber(line: SpanLine, until: u64, numbers: &mut HashMap<usize, usize>) -> Option<SpanLine> {
    match line {
        SpanLine::SpanStart { number, record, root, from, rewind, rewind_to, at } => {
            if record > until {
                return None;
            }
            let new = numbers.len();
            numbers.insert(number, new);
            Some(SpanLine::SpanStart { number: new, record, root, from, rewind, rewind_to, at })
        }
        SpanLine::SpanEnd { number, calls, to, at } => {
            let number = *numbers.get(&number)?;
            Some(SpanLine::SpanEnd { number, calls, to, at })
        }
    }
}

/// They are written once and never changed, so both sessions may share them.
fn share_contents(from: &Path, to: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    make_folder(to)?;
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_file() && entry.path().extension().is_none() {
            let copy = to.join(entry.file_name());
            if fs::hard_link(entry.path(), &copy).is_err() {
                fs::copy(entry.path(), &copy)?;
            }
        }
    }
    Ok(())
}

fn make_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::durability::Durability;
    use crate::snapshot_store::{SnapshotLimits, UpcomingFileChange};

    #[test]
    fn a_fork_has_the_history_until_its_record() {
        let folder = tempfile::tempdir().expect("a folder");
        let journal = folder.path().join("one.jsonl");
        let open = |journal: &Path| {
            let folder = SnapshotStore::folder_for(journal);
            SnapshotStore::open(&folder, Durability::Written, SnapshotLimits::default())
                .expect("a history")
        };
        let kept = open(&journal);
        for record in [3, 9, 4] {
            let path = folder.path().join(record.to_string());
            let change = UpcomingFileChange {
                record,
                path: &path,
                before: Some(b"old"),
                after: Some(b"new"),
                mode: None,
            };
            kept.save_before_change(&change).expect("kept");
            let root = folder.path().to_owned();
            let number = kept.begin_span(record, root, format!("from {record}"), None, 1);
            let number = number.expect("begun");
            kept.end_span(number, vec![], format!("to {record}"), 2).expect("ended");
            if record == 9 {
                kept.record_rewind(3).expect("noted");
            }
        }
        let fork = folder.path().join("two.jsonl");
        fork_history(&journal, &fork, None).expect("copied");
        let copy = open(&fork);
        assert_eq!((copy.changes(), copy.spans()), (kept.changes(), kept.spans()));
        assert_eq!(copy.find_spans_after(3), kept.find_spans_after(3));
        let early = folder.path().join("three.jsonl");
        fork_history(&journal, &early, Some(4)).expect("copied");
        let copy = open(&early);
        let spans: Vec<_> = copy.spans().into_iter().map(|span| (span.from, span.to)).collect();
        let expected =
            ["3", "4"].map(|record| (format!("from {record}"), Some(format!("to {record}"))));
        assert_eq!(spans, expected);
        assert_eq!(copy.changes().len(), 2);
        let planned = copy.plan_restore(0);
        assert!(planned.iter().all(|one| copy.read_contents(one).1 == b"old"), "{planned:?}");
        fs::remove_dir_all(SnapshotStore::folder_for(&journal).join("blobs")).expect("removed");
        let bare = folder.path().join("five.jsonl");
        fork_history(&journal, &bare, None).expect("without contents of edits");
        assert_eq!(open(&bare).spans(), kept.spans());
        let none = folder.path().join("four.jsonl");
        fork_history(&journal, &none, Some(1)).expect("nothing to do");
        assert!(!SnapshotStore::folder_for(&none).exists());
    }
}
