//! What sessions cost, from the billing rows of their journals: per request, day, model and
//! project. Uses integers only, needs no settings and replays nothing.

use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use memchr::memmem;
use serde::Serialize;
use windlass_engine::State;
use windlass_vocabulary::{AgentId, CivilDate, MicroUsd, Usage};

use crate::disk::{RealDisk, open_regular};
use crate::error::JournalError;
use crate::record::{
    BilledRow, JournalHead, JournalLine, JournalNote, RecordGroup, RecordItem, decode_line,
};
use crate::segment;
use crate::session_catalogue::SessionCatalogue;

/// A request with its cost, and its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BilledRequest {
    pub seq: u64,
    /// In milliseconds since 1970.
    pub at: u64,
    /// Copied from the session this one was forked from, and counted there.
    pub is_inherited: bool,
    pub row: BilledRow,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CostTotals {
    pub requests: u64,
    pub usage: Usage,
    pub cost: MicroUsd,
    /// Money that stays reserved for good, for requests whose cost was never reported.
    pub kept: MicroUsd,
    /// Requests with fewer cached tokens than expected.
    pub cache_misses: u64,
}

/// Totals by several keys.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CostReport {
    pub all: CostTotals,
    /// By day, in UTC.
    pub days: BTreeMap<String, CostTotals>,
    pub models: BTreeMap<String, CostTotals>,
    /// By the project's directory.
    pub projects: BTreeMap<String, CostTotals>,
}

impl CostTotals {
    fn add(&mut self, row: &BilledRow) {
        self.requests += 1;
        self.usage += row.billed;
        self.cost = self.cost + row.cost;
        self.kept = self.kept + row.kept;
        self.cache_misses += u64::from(row.cache_miss.is_some());
    }
}

impl CostReport {
    pub fn add(&mut self, request: &BilledRequest, project: Option<&str>) {
        let row = &request.row;
        self.all.add(row);
        self.days.entry(CivilDate::from_unix_millis(request.at).to_string()).or_default().add(row);
        self.models.entry(row.model.as_str().to_owned()).or_default().add(row);
        self.projects.entry(project.unwrap_or_default().to_owned()).or_default().add(row);
    }
}

/// The costs of one session, including what was copied from its parent.
pub fn load_session_costs(
    journal: &Path,
) -> Result<(Vec<BilledRequest>, CostReport), JournalError> {
    let (head, rows) = read_rows(journal)?;
    let mut report = CostReport::default();
    for request in &rows {
        report.add(request, head.project.as_deref());
    }
    Ok((rows, report))
}

/// The costs of all sessions, or of one project's. What a fork copied is counted once.
///
/// # Errors
///
/// The directory cannot be read. A journal that cannot be read is left out, and listed.
pub fn load_all_costs(
    catalogue: &SessionCatalogue,
    project: Option<&Path>,
) -> Result<(CostReport, Vec<PathBuf>), JournalError> {
    let mut report = CostReport::default();
    let mut unread = Vec::new();
    for listed in catalogue.list(project)? {
        let Ok((head, rows)) = read_rows(&listed.path) else {
            unread.push(listed.path);
            continue;
        };
        for request in rows.iter().filter(|request| !request.is_inherited) {
            report.add(request, head.project.as_deref());
        }
    }
    Ok((report, unread))
}

/// Derives the rows of a journal without any, written by an older version, from its final state.
#[must_use]
pub fn rows_from_state(state: &State, agent: &AgentId) -> Vec<BilledRow> {
    state.ledger.rows().iter().map(|row| BilledRow::from_ledger_row(row, agent, None)).collect()
}

/// Everything that was paid for, including what was rewound.
fn read_rows(journal: &Path) -> Result<(JournalHead, Vec<BilledRequest>), JournalError> {
    let (head, mut rows) = read_rows_of_file(journal)?;
    let later = segment::find_later_segments(&RealDisk, journal);
    if !later.is_empty() {
        let mut seen: HashSet<(u64, u64)> = rows.iter().map(|row| (row.seq, row.at)).collect();
        for (_, path) in later {
            let (_, more) = read_rows_of_file(&path)?;
            // A record that was not known to be on disk is in two files.
            let more = more.into_iter().filter(|row| seen.insert((row.seq, row.at)));
            rows.extend(more.map(|row| BilledRequest { is_inherited: false, ..row }));
        }
    }
    Ok((head, rows))
}

/// Lines without a billing row are not parsed, so that a year of sessions is read in a moment.
fn read_rows_of_file(journal: &Path) -> Result<(JournalHead, Vec<BilledRequest>), JournalError> {
    let file = open_regular(journal).map_err(JournalError::disk_error(journal, "opened"))?;
    let mut input = BufReader::with_capacity(256 << 10, file);
    let mut head = JournalHead::default();
    let mut rows = Vec::new();
    let mut line = Vec::new();
    let books = memmem::Finder::new(br#"{"note":{"billed":"#);
    let heads = memmem::Finder::new(br#","rec":{"head":"#);
    loop {
        line.clear();
        let read = input.read_until(b'\n', &mut line);
        if read.map_err(JournalError::disk_error(journal, "read"))? == 0 {
            return Ok((head, rows));
        }
        let is_head = heads.find(line.get(..HEAD_BYTES.min(line.len())).unwrap_or_default());
        if is_head.is_none() && books.find(&line).is_none() {
            continue;
        }
        match decode_line(&line) {
            Ok((JournalLine::Head(next), _)) => head = next,
            Ok((JournalLine::Group(RecordGroup { seq, at, items, .. }), _)) => {
                for (seq, item) in (seq..).zip(items) {
                    rows.extend(to_billed_request(&head, seq, at, item));
                }
            }
            Ok((JournalLine::Claim(_), _)) | Err(_) => {}
        }
    }
}

fn to_billed_request(
    head: &JournalHead,
    seq: u64,
    at: u64,
    item: RecordItem,
) -> Option<BilledRequest> {
    let RecordItem::Note(JournalNote::Billed(row)) = item else { return None };
    let is_inherited = head.parent.as_ref().is_some_and(|(_, last)| seq <= *last);
    Some(BilledRequest { seq, at, is_inherited, row })
}

/// A head is recognized within its first bytes.
const HEAD_BYTES: usize = 80;
