//! Finds sessions that contain a text, ignoring case.

use std::path::Path;

use memchr::memmem;

use super::{ListedSession, SessionCatalogue, SessionSummary};
use crate::conversation::{ConversationExtractor, ConversationItem};
use crate::error::JournalError;
use crate::journal_reader::JournalReader;
use crate::record::JournalRecord;
use crate::transcript;

/// A place with the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSearchHit {
    pub session: ListedSession,
    /// The text around the match, on one line.
    pub excerpt: String,
    /// The complete item.
    pub item: ConversationItem,
}

impl SessionCatalogue {
    /// Sessions that contain this text, most recently written first: the first match of each, up to
    /// a limit.
    ///
    /// # Errors
    ///
    /// The directory cannot be read. A journal that cannot be read is left out.
    pub fn search(
        &self,
        words: &str,
        project: Option<&Path>,
        hits_max: usize,
    ) -> Result<Vec<SessionSearchHit>, JournalError> {
        Ok(search_sessions(self.list(project)?, words, hits_max, find_first))
    }
}

/// The same for sessions that only have a transcript.
#[must_use]
pub fn search_transcripts(
    sessions: Vec<ListedSession>,
    words: &str,
    hits_max: usize,
) -> Vec<SessionSearchHit> {
    search_sessions(sessions, words, hits_max, |path, needle| {
        let items = transcript::read_transcript_conversation(path)?;
        Ok(items.into_iter().find(|item| item.text.to_lowercase().contains(needle)))
    })
}

fn search_sessions(
    sessions: Vec<ListedSession>,
    words: &str,
    hits_max: usize,
    find: impl Fn(&Path, &str) -> Result<Option<ConversationItem>, JournalError>,
) -> Vec<SessionSearchHit> {
    let needle = words.to_lowercase();
    let mut hits = Vec::new();
    for listed in sessions {
        if hits.len() >= hits_max {
            break;
        }
        if may_contain(&listed.path, &listed.summary, &needle)
            && let Ok(Some(item)) = find(&listed.path, &needle)
        {
            let excerpt = build_excerpt(&item.text, &needle);
            hits.push(SessionSearchHit { session: listed, excerpt, item });
        }
    }
    hits
}

/// Searches the raw bytes, which is much faster than parsing records. Only words without escapes
/// are spelled the same there; for others, and for journals too large for memory, the records are
/// parsed.
pub(super) fn may_contain(path: &Path, summary: &SessionSummary, needle: &str) -> bool {
    let is_plain =
        needle.bytes().all(|b| b.is_ascii() && !b.is_ascii_control() && !b"\"\\".contains(&b));
    if !is_plain || summary.size > WHOLE_BYTES_MAX {
        return true;
    }
    let Ok(mut bytes) = std::fs::read(path) else { return false };
    bytes.make_ascii_lowercase();
    memmem::find(&bytes, needle.as_bytes()).is_some()
}

fn find_first(path: &Path, needle: &str) -> Result<Option<ConversationItem>, JournalError> {
    let mut reader = JournalReader::open(path)?;
    find_in_records(core::iter::from_fn(|| reader.next_record().transpose()), needle)
}

/// The first item of a conversation that contains this text, which is in lower case. Holds one
/// record at a time.
pub(crate) fn find_in_records(
    records: impl Iterator<Item = Result<JournalRecord, JournalError>>,
    needle: &str,
) -> Result<Option<ConversationItem>, JournalError> {
    let mut extractor = ConversationExtractor::default();
    let mut items = Vec::new();
    for record in records {
        extractor.push_record(&record?, &mut items);
        let hit = items.drain(..).find(|item| item.text.to_lowercase().contains(needle));
        if hit.is_some() {
            return Ok(hit);
        }
    }
    extractor.finish(&mut items);
    Ok(items.into_iter().find(|item| item.text.to_lowercase().contains(needle)))
}

/// The text around the match, on one line.
pub(crate) fn build_excerpt(text: &str, needle: &str) -> String {
    let at = text.to_lowercase().find(needle).unwrap_or(0);
    // Lower case may have another length than the original; an approximate position is good enough.
    let start = text.floor_char_boundary(at.saturating_sub(AROUND_BYTES));
    let end = text.floor_char_boundary((at + needle.len() + AROUND_BYTES).min(text.len()));
    let words: Vec<&str> = text.get(start..end).unwrap_or_default().split_whitespace().collect();
    words.join(" ")
}

/// Journals up to this size are read as a whole.
const WHOLE_BYTES_MAX: u64 = 64 << 20;
/// Bytes shown on each side.
const AROUND_BYTES: usize = 60;
