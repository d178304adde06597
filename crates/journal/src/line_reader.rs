//! Splits the bytes of a file into lines, and recovers records from damaged lines.
//!
//! A last line without its end was cut off by a crash: it is ignored, and its length is reported.
//! Complete records are still recovered from a damaged line: a flipped line ending joins two lines,
//! and a run of zeros may precede one. The order of records is not checked here.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};

use memchr::memmem;

use crate::record::{JournalLine, LineDamage, RECORD_PREFIX, decode_line};

pub(crate) struct JournalLineReader<R> {
    input: BufReader<R>,
    buffer: Vec<u8>,
    ready: VecDeque<Result<JournalLine, LineDamage>>,
    pub(crate) number: u64,
    /// The offset of the last line.
    pub(crate) start: u64,
    /// The length of the complete lines read so far.
    pub(crate) whole_bytes: u64,
    /// The length of an incomplete last line, if the end was reached.
    pub(crate) torn_bytes: u64,
}

impl<R: Read> JournalLineReader<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input: BufReader::with_capacity(READ_BYTES, input),
            buffer: Vec::new(),
            ready: VecDeque::new(),
            number: 0,
            start: 0,
            whole_bytes: 0,
            torn_bytes: 0,
        }
    }

    /// The next line or its damage, or `None` at the end.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<Result<JournalLine, LineDamage>>> {
        if let Some(ready) = self.ready.pop_front() {
            return Ok(Some(ready));
        }
        self.buffer.clear();
        let read = (&mut self.input).take(LINE_BYTES_MAX).read_until(b'\n', &mut self.buffer)?;
        let read = u64::try_from(read).unwrap_or(u64::MAX);
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.start = self.whole_bytes;
        let Some(text) = self.buffer.strip_suffix(b"\n") else {
            return self.end_unterminated(read);
        };
        self.whole_bytes += read;
        match decode_line(text) {
            Ok((line, used)) if used == text.len() => return Ok(Some(Ok(line))),
            Err(newer @ LineDamage::Newer(_)) => return Ok(Some(Err(newer))),
            _ => salvage_records(text, &mut self.ready),
        }
        Ok(self.ready.pop_front())
    }

    /// A line that ended without a line ending: incomplete if the file ends there, else too long to
    /// be valid.
    fn end_unterminated(
        &mut self,
        read: u64,
    ) -> io::Result<Option<Result<JournalLine, LineDamage>>> {
        if self.input.fill_buf()?.is_empty() {
            self.torn_bytes = read;
            return Ok(None);
        }
        self.whole_bytes += read;
        self.skip_line()?;
        Ok(Some(Err(LineDamage::TooLong)))
    }

    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let buffer = self.input.fill_buf()?;
            let end = memchr::memchr(b'\n', buffer);
            let skipped = end.map_or(buffer.len(), |end| end + 1);
            if skipped == 0 {
                return Ok(());
            }
            self.input.consume(skipped);
            self.whole_bytes += u64::try_from(skipped).unwrap_or(u64::MAX);
            if end.is_some() {
                return Ok(());
            }
        }
    }
}

/// Recovers complete records from a damaged line: first the damage, then the records.
fn salvage_records(text: &[u8], ready: &mut VecDeque<Result<JournalLine, LineDamage>>) {
    let mut damage = None;
    let mut saved = Vec::new();
    let mut rest = text;
    for _ in 0..SALVAGES_MAX {
        let found = memmem::find(rest, RECORD_PREFIX);
        if found != Some(0) && (!rest.is_empty() || saved.is_empty()) {
            damage.get_or_insert(LineDamage::NotARecord);
        }
        let Some(found) = found else { break };
        rest = rest.get(found..).unwrap_or_default();
        let used = match decode_line(rest) {
            Ok((line, used)) => {
                saved.push(line);
                used
            }
            Err(problem) => {
                damage.get_or_insert(problem);
                RECORD_PREFIX.len()
            }
        };
        rest = rest.get(used..).unwrap_or_default();
    }
    // If there is no other fault, the line ending is damaged.
    ready.push_back(Err(damage.unwrap_or(LineDamage::Checksum)));
    ready.extend(saved.into_iter().map(Ok));
}

/// Limit on a line: more than any group can have, with every limit of the engine.
const LINE_BYTES_MAX: u64 = 256 << 20;
/// Bytes per read.
const READ_BYTES: usize = 256 << 10;
/// Limit on the positions in a damaged line at which a record is searched.
const SALVAGES_MAX: usize = 1_000;
