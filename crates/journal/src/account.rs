//! What sessions cost, from the rows their journals hold: per request, day, model and project.
//! Integers alone. Needs no settings and folds nothing.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use memchr::memmem;
use serde::Serialize;
use windlass_engine::State;
use windlass_vocabulary::{AgentId, MicroUsd, Usage};

use crate::catalogue::Catalogue;
use crate::clock::day;
use crate::disk::RealDisk;
use crate::error::JournalError;
use crate::record::{Group, Head, Item, Line, Note, Row, decode};
use crate::segment;

/// A request that was paid for, and where that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Booked {
    /// The record.
    pub seq: u64,
    /// When: milliseconds since 1970.
    pub at: u64,
    /// It was taken over from the session this one was forked from, and is counted there.
    pub is_inherited: bool,
    /// The request.
    pub row: Row,
}

/// Sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Requests.
    pub requests: u64,
    /// Tokens.
    pub usage: Usage,
    /// Money.
    pub cost: MicroUsd,
    /// Money set aside for good, for requests whose bill nobody will know.
    pub kept: MicroUsd,
    /// Requests for which the cache gave less than expected.
    pub cache_misses: u64,
}

/// Sums by what people ask for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Account {
    /// Everything.
    pub all: Totals,
    /// By day, in UTC.
    pub days: BTreeMap<String, Totals>,
    /// By model.
    pub models: BTreeMap<String, Totals>,
    /// By the project's directory.
    pub projects: BTreeMap<String, Totals>,
}

impl Totals {
    fn add(&mut self, row: &Row) {
        self.requests += 1;
        self.usage += row.billed;
        self.cost = self.cost + row.cost;
        self.kept = self.kept + row.kept;
        self.cache_misses += u64::from(row.cache_miss.is_some());
    }
}

impl Account {
    /// Adds one request.
    pub fn add(&mut self, booked: &Booked, project: Option<&str>) {
        let row = &booked.row;
        self.all.add(row);
        self.days.entry(day(booked.at)).or_default().add(row);
        self.models.entry(row.model.as_str().to_owned()).or_default().add(row);
        self.projects.entry(project.unwrap_or_default().to_owned()).or_default().add(row);
    }
}

/// The account of one session: everything it paid for, what it took over included.
///
/// # Errors
///
/// When its journal cannot be read.
pub fn of_session(journal: &Path) -> Result<(Vec<Booked>, Account), JournalError> {
    let (head, rows) = rows(journal)?;
    let mut account = Account::default();
    for booked in &rows {
        account.add(booked, head.project.as_deref());
    }
    Ok((rows, account))
}

/// The account of all sessions, or of one project's. What a fork took over is counted once.
///
/// # Errors
///
/// When the directory cannot be read. A journal that cannot be read is left out and named.
pub fn of_all(
    catalogue: &Catalogue,
    project: Option<&Path>,
) -> Result<(Account, Vec<PathBuf>), JournalError> {
    let mut account = Account::default();
    let mut unread = Vec::new();
    for listed in catalogue.list(project)? {
        let Ok((head, rows)) = rows(&listed.path) else {
            unread.push(listed.path);
            continue;
        };
        for booked in rows.iter().filter(|booked| !booked.is_inherited) {
            account.add(booked, head.project.as_deref());
        }
    }
    Ok((account, unread))
}

/// The rows of a session whose journal has none, because an older version wrote it: those of the
/// state it folds to.
#[must_use]
pub fn of_state(state: &State, agent: &AgentId) -> Vec<Row> {
    state.ledger.rows().iter().map(|row| Row::of(row, agent, None)).collect()
}

/// Everything that was paid for, also what the conversation went back from.
fn rows(journal: &Path) -> Result<(Head, Vec<Booked>), JournalError> {
    let (head, mut rows) = rows_of_file(journal)?;
    let later = segment::after_first(&RealDisk, journal);
    if !later.is_empty() {
        let mut seen: HashSet<(u64, u64)> = rows.iter().map(|row| (row.seq, row.at)).collect();
        for (_, path) in later {
            let (_, more) = rows_of_file(&path)?;
            // What was not known to be safe stands in two files.
            let more = more.into_iter().filter(|row| seen.insert((row.seq, row.at)));
            rows.extend(more.map(|row| Booked { is_inherited: false, ..row }));
        }
    }
    Ok((head, rows))
}

/// Lines that book nothing are not even parsed: a year of sessions is read in a moment.
fn rows_of_file(journal: &Path) -> Result<(Head, Vec<Booked>), JournalError> {
    let file = File::open(journal).map_err(JournalError::disk(journal, "opened"))?;
    let mut input = BufReader::with_capacity(256 << 10, file);
    let (mut head, mut rows, mut line) = (Head::default(), Vec::new(), Vec::new());
    let books = memmem::Finder::new(br#"{"note":{"billed":"#);
    let heads = memmem::Finder::new(br#","rec":{"head":"#);
    loop {
        line.clear();
        let read = input.read_until(b'\n', &mut line);
        if read.map_err(JournalError::disk(journal, "read"))? == 0 {
            return Ok((head, rows));
        }
        let is_head = heads.find(line.get(..HEAD_BYTES.min(line.len())).unwrap_or_default());
        if is_head.is_none() && books.find(&line).is_none() {
            continue;
        }
        match decode(&line) {
            Ok((Line::Head(found), _)) => head = found,
            Ok((Line::Group(Group { seq, at, items, .. }), _)) => {
                for (seq, item) in (seq..).zip(items) {
                    rows.extend(booked(&head, seq, at, item));
                }
            }
            _ => {}
        }
    }
}

fn booked(head: &Head, seq: u64, at: u64, item: Item) -> Option<Booked> {
    let Item::Note(Note::Billed(row)) = item else { return None };
    let is_inherited = head.parent.as_ref().is_some_and(|(_, last)| seq <= *last);
    Some(Booked { seq, at, is_inherited, row })
}

/// A head says so within its first bytes.
const HEAD_BYTES: usize = 80;
