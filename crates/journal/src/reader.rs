//! Streams records back, one line at a time.
//!
//! A last line without its end was torn by a crash: it is left out and its length is told. Any other
//! line that is no record is handed out as [`Damage`] with its number, and reading goes on behind
//! it. What to do about damage is the caller's to say.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use crate::error::{JournalError, check_file};
use crate::record::{Damage, Record, decode};

/// Reads the records of one journal.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    line: u64,
    seq: u64,
    whole_bytes: u64,
    torn_bytes: u64,
}

impl Reader<BufReader<File>> {
    /// Opens a journal for reading; a writer may hold it at the same time.
    ///
    /// # Errors
    ///
    /// When the file cannot be opened.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        check_file(path)?;
        let file = File::open(path).map_err(JournalError::disk(path, "opened"))?;
        Ok(Self::new(BufReader::new(file)))
    }
}

impl<R: BufRead> Reader<R> {
    /// Reads records from here.
    pub fn new(input: R) -> Self {
        Self { input, line: 0, seq: 0, whole_bytes: 0, torn_bytes: 0 }
    }

    /// The next record or damaged line, or `None` at the end.
    ///
    /// # Errors
    ///
    /// When the disk fails.
    pub fn next_line(&mut self) -> std::io::Result<Option<Result<Record, Damage>>> {
        let mut line = Vec::new();
        let read = (&mut self.input).take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
        let read = u64::try_from(read).unwrap_or(u64::MAX);
        if read == 0 {
            return Ok(None);
        }
        self.line += 1;
        let Some(text) = line.strip_suffix(b"\n") else {
            return self.unended(read);
        };
        self.whole_bytes += read;
        Ok(Some(self.in_order(decode(text))))
    }

    /// The number of the line read last, counted from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The number of the record read last.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Bytes of whole lines read so far.
    #[must_use]
    pub fn whole_bytes(&self) -> u64 {
        self.whole_bytes
    }

    /// Bytes of a torn last line, if the end was reached and there was one.
    #[must_use]
    pub fn torn_bytes(&self) -> u64 {
        self.torn_bytes
    }

    /// A line that stopped without an end: torn if the file ends there, else too long to be ours.
    fn unended(&mut self, read: u64) -> std::io::Result<Option<Result<Record, Damage>>> {
        if self.input.fill_buf()?.is_empty() {
            self.torn_bytes = read;
            return Ok(None);
        }
        self.whole_bytes += read;
        self.skip_line()?;
        Ok(Some(Err(Damage::TooLong)))
    }

    fn skip_line(&mut self) -> std::io::Result<()> {
        loop {
            let buffer = self.input.fill_buf()?;
            let end = buffer.iter().position(|byte| *byte == b'\n');
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

    /// Checks the record's place. A gap is reported once; the record itself is lost with it,
    /// because what it builds on is not there.
    fn in_order(&mut self, line: Result<Record, Damage>) -> Result<Record, Damage> {
        let record = line?;
        let expected = self.seq + 1;
        self.seq = self.seq.max(record.seq);
        if record.seq != expected {
            return Err(Damage::Gap { expected, found: record.seq });
        }
        Ok(record)
    }
}

/// The longest line that is read: more than any event can be, with every cap of the engine.
const LINE_BYTES_MAX: u64 = 256 << 20;
