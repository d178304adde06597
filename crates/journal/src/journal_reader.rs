//! Reads the records of all files of a journal in order.
//!
//! An invalid line is returned as [`LineDamage`] with its number, and reading continues after it.
//! The caller decides what to do about damage. No file is changed.
//!
//! A power loss may destroy a line but keep those after it. If none of these records that the line
//! was on the disk before, then neither it nor the following lines were ever acknowledged: the
//! journal ends there, as with an incomplete line.

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
    /// Records of the current file after this one do not count.
    limit: u64,
    later: VecDeque<LaterFile>,
    /// Lines that were read ahead.
    ahead: VecDeque<NumberedLine>,
    /// The position of the last line.
    place: LinePlace,
    /// Reading stops after this record.
    last_wanted: u64,
    /// If part of the file does not count: where the valid part ends, and the bytes after it.
    end: Option<(u64, u64)>,
    ready: VecDeque<Result<JournalEntry, LineDamage>>,
    seq: u64,
    epoch: u64,
    /// The line before was damaged, so a gap in the numbers is expected and was reported.
    is_gap_reported: bool,
}

/// The position of a line in a journal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinePlace {
    /// The file of the journal, counted from 0.
    pub file: usize,
    /// The line of the file, counted from 1.
    pub number: u64,
    /// The offset of its first byte.
    pub start: u64,
}

/// A file of the journal that is read after the current one.
struct LaterFile {
    path: PathBuf,
    input: Box<dyn Read + Send>,
    /// Records after this one do not count.
    limit: u64,
}

/// A line with its number and offset.
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
    /// Opens a journal for reading, even while a writer has it open.
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
        // A file that was started by a rewind may limit several files before it.
        let mut limit = u64::MAX;
        for (_, path) in segment::find_later_segments(disk, path).into_iter().rev() {
            let after = segment::read_preceding_seq(disk, &path)?;
            let input = disk
                .open(&path, DiskOpenMode::Read)
                .map_err(JournalError::disk_error(&path, "opened"))?;
            reader.later.push_front(LaterFile { path, input, limit });
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
            place: LinePlace::default(),
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
            self.place = LinePlace { number: seen.number, start: seen.start, ..self.place };
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
        let Some(next) = self.later.pop_front() else { return false };
        self.lines = JournalLineReader::new(next.input);
        self.path = next.path;
        self.limit = next.limit.min(self.last_wanted);
        self.end = None;
        self.place.file += 1;
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

    /// After a damaged line: checks whether the missing records were never on the disk.
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

    /// The next record; damage and other entries are skipped.
    pub fn next_record(&mut self) -> Result<Option<JournalRecord>, JournalError> {
        loop {
            match self.next_entry()? {
                Some(Ok(JournalEntry::Record(record))) => return Ok(Some(record)),
                Some(_) => {}
                None => return Ok(None),
            }
        }
    }

    /// Stops after this record, to read an earlier state.
    pub(crate) fn stop_after(&mut self, seq: u64) {
        self.last_wanted = seq;
        self.limit = self.limit.min(seq);
    }

    /// The position of the last line.
    #[must_use]
    pub(crate) fn line_place(&self) -> LinePlace {
        self.place
    }

    /// The number of the last line in its file, counted from 1.
    #[must_use]
    pub fn line_number(&self) -> u64 {
        self.place.number
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the last record.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Would lines that are added to the last file be read? Only if the reader is after a complete
    /// line, and nothing was read ahead or given up.
    #[must_use]
    pub fn can_go_on(&self) -> bool {
        let is_at_line_end = self.lines.torn_bytes == 0 && self.end.is_none();
        let has_no_more = self.later.is_empty() && self.ahead.is_empty() && self.ready.is_empty();
        is_at_line_end && has_no_more && self.last_wanted == u64::MAX
    }

    /// The highest epoch so far.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The length of complete lines read so far in the current file.
    #[must_use]
    pub fn whole_bytes(&self) -> u64 {
        self.end.map_or(self.lines.whole_bytes, |(whole, _)| whole)
    }

    /// Bytes at the end that were never acknowledged, if the end was reached.
    #[must_use]
    pub fn torn_bytes(&self) -> u64 {
        self.end.map_or(self.lines.torn_bytes, |(_, torn)| torn)
    }

    /// Checks the sequence number of a group. A gap before it is reported, but the group counts; a
    /// repeated group, or one by a writer that had lost its claim, does not.
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
        // A rewind may go back to a record in the middle of a group.
        for (seq, item) in (seq..=self.limit).zip(items) {
            self.seq = seq;
            self.ready.push_back(Ok(JournalEntry::Record(JournalRecord { seq, at, item })));
        }
    }
}

/// Limit on the lines read ahead after a damaged one: more than are ever unacknowledged.
const LOOKAHEAD_LINES_MAX: usize = 100_000;
