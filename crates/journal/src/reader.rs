//! Streams records back, in order, through all files of a journal.
//!
//! A line that is no record is handed out as [`Damage`] with its number, and reading goes on behind
//! it. What to do about damage is the caller's to say. Nothing here changes a file.
//!
//! A loss of power may take a line and leave those behind it. If none of these says that the line was
//! on the disk before, nothing from it on was ever acknowledged: the journal ends there, as with a
//! torn line.

use core::fmt;
use std::collections::VecDeque;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::disk::{Access, Disk, RealDisk};
use crate::error::{JournalError, check_file};
use crate::lines::Lines;
use crate::record::{Claim, Damage, Group, Head, Line, Record};
use crate::segment;

/// What stands in a journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// What it is about.
    Head(Head),
    /// Somebody became the writer.
    Claim(Claim),
    /// A record.
    Record(Record),
}

/// Reads one journal.
pub struct Reader {
    lines: Lines<Box<dyn Read + Send>>,
    /// The file that is read.
    path: PathBuf,
    /// Records behind this one do not count in the file that is read.
    limit: u64,
    /// Files still to be read, and the limit of each.
    later: VecDeque<(PathBuf, Box<dyn Read + Send>, u64)>,
    /// Lines that were looked at and are still to be read.
    ahead: VecDeque<Seen>,
    /// The number of the line read last.
    number: u64,
    /// Where the file ends for us, and the bytes behind that, if not all of it counts.
    end: Option<(u64, u64)>,
    ready: VecDeque<Result<Entry, Damage>>,
    seq: u64,
    epoch: u64,
    /// The line before was damaged: records may be missing here, and that was said.
    is_gap_told: bool,
}

/// A line, its number and where it begins.
struct Seen {
    line: Result<Line, Damage>,
    number: u64,
    start: u64,
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("path", &self.path).field("seq", &self.seq).finish()
    }
}

impl Reader {
    /// Opens a journal for reading; a writer may hold it at the same time.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        check_file(path)?;
        Self::open_on(&RealDisk, path)
    }

    /// Opens a journal on this disk for reading.
    ///
    /// # Errors
    ///
    /// When a file of it cannot be opened.
    pub fn open_on(disk: &dyn Disk, path: &Path) -> Result<Self, JournalError> {
        let first = disk.open(path, Access::Read).map_err(JournalError::disk(path, "opened"))?;
        let mut reader = Self::new(first, path);
        // A file that goes back behind several files before it takes records from all of them.
        let mut limit = u64::MAX;
        for (_, path) in segment::after_first(disk, path).into_iter().rev() {
            let after = segment::begins_after(disk, &path)?;
            let file =
                disk.open(&path, Access::Read).map_err(JournalError::disk(&path, "opened"))?;
            reader.later.push_front((path, file, limit));
            limit = limit.min(after);
        }
        reader.limit = limit;
        Ok(reader)
    }

    /// Reads the lines of one file from here.
    pub fn new(input: impl Read + Send + 'static, path: &Path) -> Self {
        Self {
            lines: Lines::new(Box::new(input)),
            path: path.to_owned(),
            limit: u64::MAX,
            later: VecDeque::new(),
            ahead: VecDeque::new(),
            number: 0,
            end: None,
            ready: VecDeque::new(),
            seq: 0,
            epoch: 0,
            is_gap_told: false,
        }
    }

    /// The next entry or damaged line, or `None` at the end.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn next_entry(&mut self) -> Result<Option<Result<Entry, Damage>>, JournalError> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Ok(Some(ready));
            }
            let Some(seen) = self.next_line()? else {
                if self.next_file() {
                    continue;
                }
                return Ok(None);
            };
            self.number = seen.number;
            match seen.line {
                Ok(Line::Group(group)) => self.take_group(group),
                Ok(Line::Head(head)) => return Ok(Some(Ok(Entry::Head(head)))),
                Ok(Line::Claim(claim)) => {
                    self.epoch = self.epoch.max(claim.epoch);
                    return Ok(Some(Ok(Entry::Claim(claim))));
                }
                Err(damage) => {
                    if self.was_never_safe()? {
                        let all = self.lines.whole_bytes + self.lines.torn_bytes;
                        self.end = Some((seen.start, all - seen.start));
                        self.ahead.clear();
                        continue;
                    }
                    self.is_gap_told = true;
                    return Ok(Some(Err(damage)));
                }
            }
        }
    }

    fn next_file(&mut self) -> bool {
        let Some((path, file, limit)) = self.later.pop_front() else { return false };
        self.lines = Lines::new(file);
        (self.path, self.limit, self.end) = (path, limit, None);
        true
    }

    fn next_line(&mut self) -> Result<Option<Seen>, JournalError> {
        match self.ahead.pop_front() {
            Some(seen) => Ok(Some(seen)),
            None if self.end.is_some() => Ok(None),
            None => self.read_line(),
        }
    }

    fn read_line(&mut self) -> Result<Option<Seen>, JournalError> {
        let line = self.lines.next_line().map_err(JournalError::disk(&self.path, "read"))?;
        let Lines { number, start, .. } = self.lines;
        Ok(line.map(|line| Seen { line, number, start }))
    }

    /// Looks at what stands behind a damaged line: did the disk never have what is missing there?
    fn was_never_safe(&mut self) -> Result<bool, JournalError> {
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
                    Some(seen) if place < LOOKED_AT_MAX => self.ahead.push_back(seen),
                    _ => return Ok(is_something_missing),
                }
            }
            let seen = self.ahead.get(place);
            if let Some(Seen { line: Ok(Line::Group(Group { seq, safe, .. })), .. }) = seen {
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
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn next_record(&mut self) -> Result<Option<Record>, JournalError> {
        loop {
            match self.next_entry()? {
                Some(Ok(Entry::Record(record))) => return Ok(Some(record)),
                Some(_) => {}
                None => return Ok(None),
            }
        }
    }

    /// The number of the line read last in its file, counted from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.number
    }

    /// The file that is read.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of the record read last.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.seq
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
    /// reported and they count all the same; what was there before, or was written by somebody who
    /// had lost the claim, does not.
    fn take_group(&mut self, group: Group) {
        let Group { seq, at, epoch, safe: _, items } = group;
        if epoch != 0 && epoch < self.epoch {
            self.ready.push_back(Err(Damage::Fenced(epoch)));
            return;
        }
        let expected = self.seq + 1;
        if seq < expected {
            self.ready.push_back(Err(Damage::Repeated(seq)));
            return;
        }
        if seq > self.limit {
            return;
        }
        if seq > expected && !self.is_gap_told {
            self.ready.push_back(Err(Damage::Gap { expected, found: seq }));
        }
        self.is_gap_told = false;
        self.epoch = self.epoch.max(epoch);
        // Where a conversation went back, it may have been into the middle of what was written at once.
        for (seq, item) in (seq..=self.limit).zip(items) {
            self.seq = seq;
            self.ready.push_back(Ok(Entry::Record(Record { seq, at, item })));
        }
    }
}

/// Lines looked at behind a damaged one: more than are ever in doubt.
const LOOKED_AT_MAX: usize = 100_000;
