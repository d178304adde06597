//! Finds all places in a journal that contain some words, optionally limited by kind, tool, file
//! and outcome. Searches complete texts, even those that a list shows shortened.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use windlass_engine::Event;
use windlass_vocabulary::{ContentBlock, Delta, Ticket, ToolCallId, ToolResultPart};

use super::SessionSummary;
use super::search::may_contain;
use crate::conversation::join_block_texts;
use crate::error::JournalError;
use crate::journal_reader::JournalReader;
use crate::record::{JournalNote, JournalRecord, RecordItem, ToolIntent};
use crate::session_facts::find_named_file;

/// The search terms. Empty fields match everything.
#[derive(Clone, Debug, Default)]
pub struct PlaceQuery {
    /// In lower case.
    pub words: String,
    /// Any of `prompt`, `answer`, `thinking`, `call`, `result`, `summary`.
    pub kinds: Vec<String>,
    /// The name of a tool, in lower case.
    pub tool: Option<String>,
    /// Part of a file name, in lower case.
    pub file: Option<String>,
    /// Only results that failed, or only those that succeeded.
    pub is_error: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundPlace {
    pub seq: u64,
    pub at: u64,
    pub kind: &'static str,
    pub tool: Option<String>,
    pub is_error: bool,
    /// The text around the match, on one line.
    pub excerpt: String,
    /// The position of the match in the excerpt, in characters.
    pub start: usize,
    pub length: usize,
}

/// The matches in one journal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundPlaces {
    pub places: Vec<FoundPlace>,
    /// There are more matches than requested.
    pub has_more: bool,
    /// The time limit was reached before the end.
    pub is_cut: bool,
}

/// A call without a result so far.
struct OpenCall {
    tool: String,
    file: Option<String>,
}

/// Searches a journal until enough places are found or the time limit is reached.
pub fn search_places(
    journal: &Path,
    summary: &SessionSummary,
    query: &PlaceQuery,
    places_max: usize,
    deadline: Instant,
) -> Result<FoundPlaces, JournalError> {
    let mut found = FoundPlaces::default();
    if !query.words.is_empty() && !may_contain(journal, summary, &query.words) {
        return Ok(found);
    }
    let mut reader = JournalReader::open(journal)?;
    let mut search = PlaceSearch { query, calls: BTreeMap::new(), tickets: BTreeMap::new() };
    let mut records = 0_u64;
    while let Some(record) = reader.next_record()? {
        records += 1;
        if records.is_multiple_of(RECORDS_PER_LOOK) && Instant::now() >= deadline {
            found.is_cut = true;
            break;
        }
        if let Some(place) = search.look_at(&record) {
            if found.places.len() >= places_max {
                found.has_more = true;
                break;
            }
            found.places.push(place);
        }
    }
    Ok(found)
}

struct PlaceSearch<'a> {
    query: &'a PlaceQuery,
    calls: BTreeMap<ToolCallId, OpenCall>,
    tickets: BTreeMap<Ticket, ToolCallId>,
}

impl PlaceSearch<'_> {
    fn look_at(&mut self, record: &JournalRecord) -> Option<FoundPlace> {
        match &record.item {
            RecordItem::Note(JournalNote::Intended(ToolIntent { ticket, call, .. })) => {
                self.tickets.insert(*ticket, call.clone());
                None
            }
            RecordItem::Note(_) => None,
            RecordItem::Event(event) => self.look_at_event(record, event),
        }
    }

    fn look_at_event(&mut self, record: &JournalRecord, event: &Event) -> Option<FoundPlace> {
        match event {
            Event::UserSubmitted { content, .. } => {
                self.match_text(record, "prompt", None, false, &join_block_texts(content))
            }
            Event::ModelDelta { delta: Delta::Block(ContentBlock::Text(text)), .. } => {
                self.match_text(record, "answer", None, false, text)
            }
            Event::ModelDelta { delta: Delta::Block(ContentBlock::Thinking(block)), .. } => {
                self.match_text(record, "thinking", None, false, &block.text)
            }
            Event::ModelDelta { delta: Delta::Call { call, .. }, .. } => {
                let input = call.input.as_str();
                let file = find_named_file(input);
                let tool = call.name.as_str().to_owned();
                let open = OpenCall { tool, file };
                let found = match self.query.is_error {
                    None => self.match_text(record, "call", Some(&open), false, input),
                    Some(_) => None,
                };
                self.calls.insert(call.id.clone(), open);
                found
            }
            Event::ToolEnded { ticket, outcome } => {
                let open = self.tickets.remove(ticket).and_then(|call| self.calls.remove(&call));
                if self.query.is_error.is_some_and(|wanted| wanted != outcome.is_error) {
                    return None;
                }
                let words: String =
                    outcome.content.iter().filter_map(ToolResultPart::as_text).collect();
                self.match_text(record, "result", open.as_ref(), outcome.is_error, &words)
            }
            Event::SummaryEnded { result: Ok(text), .. } => {
                self.match_text(record, "summary", None, false, text)
            }
            Event::Resumed
            | Event::QueueChanged { .. }
            | Event::Adopted { .. }
            | Event::Configured(_)
            | Event::CompactionAsked { .. }
            | Event::ChoreAsked { .. }
            | Event::Interrupted(_)
            | Event::ModelStarted { .. }
            | Event::ModelDelta { .. }
            | Event::ModelEnded { .. }
            | Event::ModelFailed { .. }
            | Event::ToolProgressed { .. }
            | Event::PermissionAnswered { .. }
            | Event::HookEnded { .. }
            | Event::SummaryEnded { .. }
            | Event::AttachmentArrived { .. }
            | Event::TimerFired { .. } => None,
        }
    }

    fn match_text(
        &self,
        record: &JournalRecord,
        kind: &'static str,
        call: Option<&OpenCall>,
        is_error: bool,
        text: &str,
    ) -> Option<FoundPlace> {
        let PlaceQuery { words, kinds, tool, file, is_error: outcome } = self.query;
        let is_kind = kinds.is_empty() || kinds.iter().any(|wanted| wanted == kind);
        // An item without a tool, file or outcome does not match a query for one.
        let is_tool = tool
            .as_ref()
            .is_none_or(|wanted| call.is_some_and(|call| call.tool.to_lowercase() == *wanted));
        let is_file = file.as_ref().is_none_or(|wanted| {
            let own = call.and_then(|call| call.file.as_ref());
            own.is_some_and(|own| own.to_lowercase().contains(wanted.as_str()))
        });
        let has_outcome = outcome.is_none() || kind == "result";
        if !(is_kind && is_tool && is_file && has_outcome) {
            return None;
        }
        let at = if words.is_empty() { 0 } else { text.to_lowercase().find(words.as_str())? };
        let (excerpt, start) = cut_excerpt(text, at, words);
        Some(FoundPlace {
            seq: record.seq,
            at: record.at,
            kind,
            tool: call.map(|call| call.tool.clone()),
            is_error,
            excerpt,
            start,
            length: words.chars().count(),
        })
    }
}

/// The line around the match, and the position of the match in it.
fn cut_excerpt(text: &str, at: usize, words: &str) -> (String, usize) {
    // Lower case may have another length than the original; an approximate cut is good enough.
    let start = text.floor_char_boundary(at.saturating_sub(AROUND_BYTES).min(text.len()));
    let end = text.floor_char_boundary((at + words.len() + AROUND_BYTES).min(text.len()));
    let cut = text.get(start..end).unwrap_or_default();
    let line = cut.split_whitespace().collect::<Vec<_>>().join(" ");
    let lower: Vec<char> = line.chars().map(|c| c.to_lowercase().next().unwrap_or(c)).collect();
    let wanted: Vec<char> =
        words.split_whitespace().collect::<Vec<_>>().join(" ").chars().collect();
    let place = match wanted.is_empty() {
        true => Some(0),
        false => lower.windows(wanted.len()).position(|window| window == wanted.as_slice()),
    };
    (line, place.unwrap_or(0))
}

const AROUND_BYTES: usize = 80;
/// Records between two checks of the clock.
const RECORDS_PER_LOOK: u64 = 256;
