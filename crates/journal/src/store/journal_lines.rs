//! Journals as lines of bytes, for stores that keep them elsewhere than in files.
//!
//! The bytes are those of a file, so that a journal can be taken out of one store, read by everything
//! that reads files, and put into another.

use std::io::{Cursor, Read};
use std::path::PathBuf;

use windlass_engine::Event;
use windlass_vocabulary::{MicroUsd, SessionId};

use crate::error::JournalError;
use crate::journal_reader::{JournalEntry, JournalReader};
use crate::line_reader::JournalLineReader;
use crate::record::{
    ClaimHolder, JournalHead, JournalLine, JournalNote, NewRecordGroup, NewRecordItem, RecordItem,
    WriterClaim, encode_claim, encode_group, encode_head,
};

/// What a store needs to know of lines that it is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalLinesSummary {
    /// The number of the last record in them.
    pub last_seq: Option<u64>,
    /// What the requests in them cost, with what stays set aside.
    pub cost: MicroUsd,
    /// A tool ended: files may have changed.
    pub has_tool_end: bool,
    pub has_run_end: bool,
    /// What clients called the messages in them.
    pub message_names: Vec<String>,
}

/// Reads what a store needs to know of lines, passing over what is damaged.
#[must_use]
pub fn summarize_lines(bytes: &[u8]) -> JournalLinesSummary {
    let mut summary = JournalLinesSummary::default();
    let mut lines = JournalLineReader::new(bytes);
    while let Ok(Some(line)) = lines.next_line() {
        let Ok(JournalLine::Group(group)) = line else { continue };
        let count = u64::try_from(group.items.len()).unwrap_or(u64::MAX);
        let last = group.seq.saturating_add(count).saturating_sub(1);
        summary.last_seq = Some(summary.last_seq.unwrap_or_default().max(last));
        for item in group.items {
            match item {
                RecordItem::Event(Event::ToolEnded { .. }) => summary.has_tool_end = true,
                RecordItem::Note(JournalNote::Billed(row)) => {
                    summary.cost = summary.cost + row.cost + row.kept;
                }
                RecordItem::Note(JournalNote::Ended(_)) => summary.has_run_end = true,
                RecordItem::Note(JournalNote::Named(name)) => summary.message_names.push(name),
                RecordItem::Event(_) | RecordItem::Note(_) => {}
            }
        }
    }
    summary
}

/// The first line of a journal.
pub fn encode_head_line(session: &SessionId, head: &JournalHead) -> Result<Vec<u8>, JournalError> {
    let head = JournalHead { session: Some(session.clone()), segment: 1, ..head.clone() };
    encode_head(&head).map_err(unwritable(session))
}

/// The line that says that this process writes from here on.
pub fn encode_claim_line(
    session: &SessionId,
    epoch: u64,
    at: u64,
) -> Result<Vec<u8>, JournalError> {
    let claim = WriterClaim { epoch, holder: ClaimHolder::current_process(), at };
    encode_claim(&claim).map_err(unwritable(session))
}

/// One line with these items, the first of which has this number.
pub fn encode_group_line(
    session: &SessionId,
    first_seq: u64,
    at: u64,
    epoch: u64,
    items: &[NewRecordItem<'_>],
) -> Result<Vec<u8>, JournalError> {
    let group = NewRecordGroup { seq: first_seq, at, epoch, safe: Some(first_seq - 1), items };
    encode_group(&group).map_err(unwritable(session))
}

/// The process that claimed a journal last.
#[must_use]
pub fn read_last_claim(bytes: &[u8]) -> Option<ClaimHolder> {
    let mut reader = read_lines(Cursor::new(bytes.to_vec()), "");
    let mut holder = None;
    while let Ok(Some(entry)) = reader.next_entry() {
        if let Ok(JournalEntry::Claim(claim)) = entry {
            holder = Some(claim.holder);
        }
    }
    holder
}

/// Reads a journal that lies in memory.
#[must_use]
pub fn read_lines(bytes: impl Read + Send + 'static, name: &str) -> JournalReader {
    JournalReader::new(bytes, &PathBuf::from(name))
}

fn unwritable(session: &SessionId) -> impl FnOnce(serde_json::Error) -> JournalError + use<> {
    let path = PathBuf::from(session.as_str());
    move |source| JournalError::Unwritable { path, source }
}
