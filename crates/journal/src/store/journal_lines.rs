//! Journals as lines of bytes, for stores that do not use files.
//!
//! The bytes are the same as in a file, so that a journal can be moved between stores and read by
//! everything that reads files.

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

/// What a store needs to know about appended lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JournalLinesSummary {
    /// The number of the last record.
    pub last_seq: Option<u64>,
    /// The cost of the requests, including what stays reserved.
    pub cost: MicroUsd,
    /// A tool ended, so files may have changed.
    pub has_tool_end: bool,
    pub has_run_end: bool,
    /// The names that clients gave to messages.
    pub message_names: Vec<String>,
}

/// Extracts what a store needs from lines, and skips damaged ones.
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

/// The line of a claim by this process.
pub fn encode_claim_line(
    session: &SessionId,
    epoch: u64,
    at: u64,
) -> Result<Vec<u8>, JournalError> {
    let claim = WriterClaim { epoch, holder: ClaimHolder::current_process(), at };
    encode_claim(&claim).map_err(unwritable(session))
}

/// One line with these items; the first one gets this number.
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

/// The first line of a journal of which these are the first bytes.
#[must_use]
pub fn read_head(bytes: &[u8]) -> Option<JournalHead> {
    let mut reader = read_lines(Cursor::new(bytes.to_vec()), "");
    match reader.next_entry() {
        Ok(Some(Ok(JournalEntry::Head(head)))) => Some(head),
        _ => None,
    }
}

/// Reads a journal from memory.
#[must_use]
pub fn read_lines(bytes: impl Read + Send + 'static, name: &str) -> JournalReader {
    JournalReader::new(bytes, &PathBuf::from(name))
}

fn unwritable(session: &SessionId) -> impl FnOnce(serde_json::Error) -> JournalError + use<> {
    let path = PathBuf::from(session.as_str());
    move |source| JournalError::Unwritable { path, source }
}
