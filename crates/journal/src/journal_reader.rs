//! Streams records back, in order, through all files of a journal.
//!
//! A line that is no record is handed out as [`LineDamage`] with its number, and reading goes on behind
//! it. What to do about damage is the caller's to say. Nothing here changes a file.
//!
//! A loss of power may take a line and leave those behind it. If none of these says that the line was
//! on the disk before, nothing from it on was ever acknowledged: the journal ends there, as with a
//! torn line.

use core::fmt;
use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::disk::{DiskOpenMode, JournalDisk, RealDisk};
use crate::error::{JournalError, check_journal_file};
use crate::line_reader::JournalLineReader;
use crate::record::{
    JournalHead, JournalLine, JournalRecord, LineDamage, RecordGroup, WriterClaim,
};
use crate::segment;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalEntry {
    /// What it is about.
    Head(JournalHead),
    /// A process became the writer.
    Claim(WriterClaim),
    Record(JournalRecord),
}

pub struct JournalReader {
    lines: JournalLineReader<Box<dyn Read + Send>>,
    path: PathBuf,
    /// Records behind this one do not count in the file that is read.
    limit: u64,
    /// Files still to be read, and the limit of each.
    later: VecDeque<(PathBuf, Box<dyn Read + Send>, u64)>,
    /// Lines that were looked at and are still to be read.
    ahead: VecDeque<NumberedLine>,
    /// The number of the line read last.
    number: u64,
    /// Where that line begins in its file.
    line_start: u64,
    /// Which file it stands in, counted from 0.
    file_index: usize,
    /// Nothing behind this record is read.
    last_wanted: u64,
    /// Where the file ends for us, and the bytes behind that, if not all of it counts.
    end: Option<(u64, u64)>,
    ready: VecDeque<Result<JournalEntry, LineDamage>>,
    seq: u64,
    epoch: u64,
    /// The line before was damaged: records may be missing here, and that was said.
    is_gap_reported: bool,
}

/// Where a line of a journal stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinePlace {
    /// Which file of the journal, counted from 0.
    pub file: usize,
    /// Which line of the file, counted from 1.
    pub number: u64,
    /// The byte at which it begins.
    pub start: u64,
}

/// A line, its number and where it begins.
struct NumberedLine {
    line: Result<JournalLine, LineDamage>,
    number: u64,
    start: u64,
}

impl fmt::Debug for JournalReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("path", &self.path).field("seq", &self.seq).finish()
    }
}

impl JournalReader {
    /// Opens a journal for reading; a writer may hold it at the same time.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        check_journal_file(path)?;
        Self::open_on(&RealDisk, path)
    }

    /// Opens a journal on this disk for reading.
    pub fn open_on(disk: &dyn JournalDisk, path: &Path) -> Result<Self, JournalError> {
        let first = disk
            .open(path, DiskOpenMode::Read)
            .map_err(JournalError::disk_error(path, "opened"))?;
        let mut reader = Self::new(first, path);
        // A file that goes back behind several files before it takes records from all of them.
        let mut limit = u64::MAX;
        for (_, path) in segment::find_later_segments(disk, path).into_iter().rev() {
            let after = segment::read_preceding_seq(disk, &path)?;
            let file = disk
                .open(&path, DiskOpenMode::Read)
                .map_err(JournalError::disk_error(&path, "opened"))?;
            reader.later.push_front((path, file, limit));
            limit = limit.min(after);
        }
        reader.limit = limit;
        Ok(reader)
    }

    /// Reads the lines of one file from here.
    pub fn new(input: impl Read + Send + 'static, path: &Path) -> Self {
        Self {
            lines: JournalLineReader::new(Box::new(input)),
            path: path.to_owned(),
            limit: u64::MAX,
            later: VecDeque::new(),
            ahead: VecDeque::new(),
            number: 0,
            line_start: 0,
            file_index: 0,
            last_wanted: u64::MAX,
            end: None,
            ready: VecDeque::new(),
            seq: 0,
            epoch: 0,
            is_gap_reported: false,
        }
    }

    /// The next entry or damaged line, or `None` at the end.
    pub fn next_entry(&mut self) -> Result<Option<Result<JournalEntry, LineDamage>>, JournalError> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Ok(Some(ready));
            }
            if self.seq >= self.last_wanted {
                return Ok(None);
            }
            let Some(seen) = self.next_line()? else {
                if self.open_next_file() {
                    continue;
                }
                return Ok(None);
            };
            (self.number, self.line_start) = (seen.number, seen.start);
            match seen.line {
                Ok(JournalLine::Group(group)) => self.accept_group(group),
                Ok(JournalLine::Head(head)) => return Ok(Some(Ok(JournalEntry::Head(head)))),
                Ok(JournalLine::Claim(claim)) => {
                    self.epoch = self.epoch.max(claim.epoch);
                    return Ok(Some(Ok(JournalEntry::Claim(claim))));
                }
                Err(damage) => {
                    if self.is_unacknowledged_tail()? {
                        let all = self.lines.whole_bytes + self.lines.torn_bytes;
                        self.end = Some((seen.start, all - seen.start));
                        self.ahead.clear();
                        continue;
                    }
                    self.is_gap_reported = true;
                    return Ok(Some(Err(damage)));
                }
            }
        }
    }

    fn open_next_file(&mut self) -> bool {
        let Some((path, file, limit)) = self.later.pop_front() else { return false };
        self.lines = JournalLineReader::new(file);
        (self.path, self.limit, self.end) = (path, limit.min(self.last_wanted), None);
        self.file_index += 1;
        true
    }

    fn next_line(&mut self) -> Result<Option<NumberedLine>, JournalError> {
        match self.ahead.pop_front() {
            Some(seen) => Ok(Some(seen)),
            None if self.end.is_some() => Ok(None),
            None => self.read_line(),
        }
    }

    fn read_line(&mut self) -> Result<Option<NumberedLine>, JournalError> {
        let line = self.lines.next_line().map_err(JournalError::disk_error(&self.path, "read"))?;
        let JournalLineReader { number, start, .. } = self.lines;
        Ok(line.map(|line| NumberedLine { line, number, start }))
    }

    /// Looks at what stands behind a damaged line: did the disk never have what is missing there?
    fn is_unacknowledged_tail(&mut self) -> Result<bool, JournalError> {
        if self.limit != u64::MAX {
            // The next file says how far this one counts.
            return Ok(false);
        }
        let missing = self.seq + 1;
        let mut place = 0;
        let mut is_something_missing = false;
        loop {
            if place == self.ahead.len() {
                match self.read_line()? {
                    Some(seen) if place < LOOKAHEAD_LINES_MAX => self.ahead.push_back(seen),
                    _ => return Ok(is_something_missing),
                }
            }
            let seen = self.ahead.get(place);
            if let Some(NumberedLine {
                line: Ok(JournalLine::Group(RecordGroup { seq, safe, .. })),
                ..
            }) = seen
            {
                let was_safe = safe.is_none_or(|safe| safe >= missing);
                if *seq <= missing || was_safe {
                    return Ok(false);
                }
                is_something_missing = true;
            }
            place += 1;
        }
    }

    /// The next record; damage and everything else is passed over.
    pub fn next_record(&mut self) -> Result<Option<JournalRecord>, JournalError> {
        loop {
            match self.next_entry()? {
                Some(Ok(JournalEntry::Record(record))) => return Ok(Some(record)),
                Some(_) => {}
                None => return Ok(None),
            }
        }
    }

    /// Ends the journal behind this record, for a look at an earlier state.
    pub fn stop_after(&mut self, seq: u64) {
        self.last_wanted = seq;
        self.limit = self.limit.min(seq);
    }

    /// Where the line read last stands.
    #[must_use]
    pub fn line_place(&self) -> LinePlace {
        LinePlace { file: self.file_index, number: self.number, start: self.line_start }
    }

    /// The number of the line read last in its file, counted from 1.
    #[must_use]
    pub fn line_number(&self) -> u64 {
        self.number
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the record read last.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Whether what is added to the last file from here on would be read: the reader stands behind a whole
    /// line, and nothing was looked at ahead or given up.
    #[must_use]
    pub fn can_go_on(&self) -> bool {
        let is_at_line_end = self.lines.torn_bytes == 0 && self.end.is_none();
        let has_no_more = self.later.is_empty() && self.ahead.is_empty() && self.ready.is_empty();
        is_at_line_end && has_no_more && self.last_wanted == u64::MAX
    }

    /// The newest claim so far.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Bytes of whole lines read so far in the file that is read.
    #[must_use]
    pub fn whole_bytes(&self) -> u64 {
        self.end.map_or(self.lines.whole_bytes, |(whole, _)| whole)
    }

    /// Bytes at the end that were never acknowledged, if the end was reached and there were some.
    #[must_use]
    pub fn torn_bytes(&self) -> u64 {
        self.end.map_or(self.lines.torn_bytes, |(_, torn)| torn)
    }

    /// Checks the place of records that were written together. What is missing before them is
    /// reported and they count all the same; what was there before, or was written by a process that
    /// had lost the claim, does not.
    fn accept_group(&mut self, group: RecordGroup) {
        let RecordGroup { seq, at, epoch, safe: _, items } = group;
        if epoch != 0 && epoch < self.epoch {
            self.ready.push_back(Err(LineDamage::Fenced(epoch)));
            return;
        }
        let expected = self.seq + 1;
        if seq < expected {
            self.ready.push_back(Err(LineDamage::Repeated(seq)));
            return;
        }
        if seq > self.limit {
            return;
        }
        if seq > expected && !self.is_gap_reported {
            self.ready.push_back(Err(LineDamage::Gap { expected, found: seq }));
        }
        self.is_gap_reported = false;
        self.epoch = self.epoch.max(epoch);
        // Where a conversation went back, it may have been into the middle of what was written at once.
        for (seq, item) in (seq..=self.limit).zip(items) {
            self.seq = seq;
            self.ready.push_back(Ok(JournalEntry::Record(JournalRecord { seq, at, item })));
        }
    }
}

/// Lines looked at behind a damaged one: more than are ever in doubt.
const LOOKAHEAD_LINES_MAX: usize = 100_000;
