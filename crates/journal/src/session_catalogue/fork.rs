//! Forks a session: a new one begins with the records of another, up to one of them.

use std::path::Path;

use windlass_vocabulary::{MicroUsd, SessionId};

use crate::disk::{RealDisk, replace_file};
use crate::error::JournalError;
use crate::journal_reader::{JournalEntry, JournalReader};
use crate::record::{
    JournalHead, JournalRecord, NewRecordGroup, NewRecordItem, RecordItem, encode_group,
    encode_head,
};

/// Copies the records of a journal up to this one (all, if `None`) to a new journal, for the same
/// project unless another one is given. The source is only read and may be written meanwhile.
/// Returns the last record copied. The copy is created atomically.
pub fn fork_journal(
    source: &Path,
    up_to: Option<u64>,
    new: &Path,
    session: &SessionId,
    project: Option<&Path>,
    at: u64,
) -> Result<u64, JournalError> {
    if new.symlink_metadata().is_ok() {
        let there = std::io::ErrorKind::AlreadyExists.into();
        return Err(JournalError::disk_error(new, "begun")(there));
    }
    let unwritable = |error| JournalError::Unwritable { path: new.to_owned(), source: error };
    let last = up_to.unwrap_or(u64::MAX);
    let mut reader = JournalReader::open(source)?;
    let mut head = JournalHead::default();
    let mut groups: Vec<u8> = Vec::new();
    let mut copied = 0;
    while let Some(entry) = reader.next_entry()? {
        match entry {
            Ok(JournalEntry::Head(first)) if first.segment <= 1 => head = first,
            Ok(JournalEntry::Record(JournalRecord { seq, at, item })) if seq <= last => {
                let item = match &item {
                    RecordItem::Event(event) => NewRecordItem::Event(event),
                    RecordItem::Note(note) => NewRecordItem::Note(note),
                };
                // The numbers are kept, so that a record has the same number in both.
                groups.extend(
                    encode_group(&NewRecordGroup::without_claim(seq, at, &[item]))
                        .map_err(unwritable)?,
                );
                copied = seq;
            }
            Ok(JournalEntry::Head(_) | JournalEntry::Claim(_) | JournalEntry::Record(_))
            | Err(_) => {}
        }
    }
    let parent = head.session.clone().unwrap_or_else(|| {
        SessionId::from(source.file_stem().unwrap_or_default().to_string_lossy().as_ref())
    });
    let head = JournalHead {
        session: Some(session.clone()),
        project: project.map(|path| path.to_string_lossy().into_owned()).or(head.project),
        created: at,
        parent: Some((parent, copied)),
        rewound: 0,
        spent: MicroUsd(0),
        segment: 1,
        after: 0,
        ..head
    };
    let mut bytes = encode_head(&head).map_err(unwritable)?;
    bytes.extend(groups);
    replace_file(&RealDisk, new, &bytes).map_err(JournalError::disk_error(new, "written"))?;
    Ok(copied)
}
