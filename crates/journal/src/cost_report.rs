//! What sessions cost, from the billing rows of their journals: per request, day, model and
//! project. Uses integers only, needs no settings and replays nothing.

use std::collections::{BTreeMap, HashSet};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use memchr::memmem;
use serde::Serialize;
use windlass_vocabulary::{CivilDate, MicroUsd, Usage};

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
    #[must_use]
    pub fn from_requests(requests: &[BilledRequest], project: Option<&str>) -> Self {
        let mut report = Self::default();
        report.add_all(requests, project);
        report
    }

    fn add_all(&mut self, requests: &[BilledRequest], project: Option<&str>) {
        requests.iter().for_each(|request| self.add(request, project));
    }

    fn add(&mut self, request: &BilledRequest, project: Option<&str>) {
        let row = &request.row;
        self.all.add(row);
        self.days.entry(CivilDate::from_unix_millis(request.at).to_string()).or_default().add(row);
        self.models.entry(row.model.as_str().to_owned()).or_default().add(row);
        self.projects.entry(project.unwrap_or_default().to_owned()).or_default().add(row);
    }
}

/// The requests of a session and its agents, oldest first, without those copied from another
/// session.
pub fn load_requests(journal: &Path) -> Result<Vec<BilledRequest>, JournalError> {
    let mut requests = read_own_requests(journal)?;
    for agent in find_agent_journals(journal, AGENT_DEPTH_MAX) {
        // An agent that was cut off before its first line has paid for nothing.
        requests.extend(read_own_requests(&agent).unwrap_or_default());
    }
    requests.sort_by_key(|request| request.at);
    Ok(requests)
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
        match load_requests(&listed.path) {
            Ok(requests) => report.add_all(&requests, listed.summary.project.as_deref()),
            Err(_) => unread.push(listed.path),
        }
    }
    Ok((report, unread))
}

fn read_own_requests(journal: &Path) -> Result<Vec<BilledRequest>, JournalError> {
    let mut requests = read_rows(journal)?;
    requests.retain(|request| !request.is_inherited);
    Ok(requests)
}

/// The journals of a session's agents, and of their agents, which are in a folder beside its own.
fn find_agent_journals(journal: &Path, depth: u8) -> Vec<PathBuf> {
    let Some(depth) = depth.checked_sub(1) else {
        return Vec::new();
    };
    let Ok(entries) = std::fs::read_dir(journal.with_extension("agents")) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for path in entries.flatten().map(|entry| entry.path()) {
        let is_journal = path.extension().is_some_and(|extension| extension == "jsonl");
        // Later files of a journal have one more dot; the journal is counted by its first one.
        let is_first = path.file_stem().is_some_and(|stem| !stem.to_string_lossy().contains('.'));
        if is_journal && is_first {
            found.extend(find_agent_journals(&path, depth));
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Everything that was paid for, including what was rewound.
fn read_rows(journal: &Path) -> Result<Vec<BilledRequest>, JournalError> {
    let mut rows = read_rows_of_file(journal)?;
    let later = segment::find_later_segments(&RealDisk, journal);
    if !later.is_empty() {
        let mut seen: HashSet<(u64, u64)> = rows.iter().map(|row| (row.seq, row.at)).collect();
        for (_, path) in later {
            let more = read_rows_of_file(&path)?;
            // A record that was not known to be on disk is in two files.
            let more = more.into_iter().filter(|row| seen.insert((row.seq, row.at)));
            rows.extend(more.map(|row| BilledRequest { is_inherited: false, ..row }));
        }
    }
    Ok(rows)
}

/// Lines without a billing row are not parsed, so that a year of sessions is read in a moment.
fn read_rows_of_file(journal: &Path) -> Result<Vec<BilledRequest>, JournalError> {
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
            return Ok(rows);
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

/// Sessions nest less deeply than this.
const AGENT_DEPTH_MAX: u8 = 16;
/// A head is recognized within its first bytes.
const HEAD_BYTES: usize = 80;
