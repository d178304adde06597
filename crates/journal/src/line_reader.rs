//! Bytes of one file to lines, and what can be saved from lines that are damaged.
//!
//! A last line without its end was torn by a crash: it is left out and its length is reported. From a
//! line that is not as it was written, whole records are still taken: a flipped end of line joins
//! two of them, and a run of zeros may stand before one. Order is not looked at here.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};

use memchr::memmem;

use crate::record::{JournalLine, LineDamage, RECORD_PREFIX, decode_line};

pub(crate) struct JournalLineReader<R> {
    input: BufReader<R>,
    buffer: Vec<u8>,
    ready: VecDeque<Result<JournalLine, LineDamage>>,
    pub(crate) number: u64,
    /// Where the line read last begins.
    pub(crate) start: u64,
    /// Bytes of whole lines read so far.
    pub(crate) whole_bytes: u64,
    /// Bytes of a torn last line, if the end was reached and there was one.
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

    /// The next line or what is wrong with it, or `None` at the end.
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

    /// A line that stopped without an end: torn if the file ends there, else too long to be ours.
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

/// Takes whole records out of a damaged line: what is wrong first, then what could be saved.
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
    // Without any other fault it is the end of the line that is damaged.
    ready.push_back(Err(damage.unwrap_or(LineDamage::Checksum)));
    ready.extend(saved.into_iter().map(Ok));
}

/// The longest line that is read: more than any group can be, with every cap of the engine.
const LINE_BYTES_MAX: u64 = 256 << 20;
/// Bytes read at once.
const READ_BYTES: usize = 256 << 10;
/// Places in a damaged line at which a record is looked for.
const SALVAGES_MAX: usize = 1_000;
