//! Server-sent event framing over byte chunks.
//!
//! Follows the specification of the format: a byte order mark is skipped, lines end in CR, LF or
//! CRLF, comments and unknown fields are dropped, several data lines are joined by a newline, an
//! event without data is no event. How the bytes were cut into chunks never matters. One line and
//! one event are bounded. It does not decode text (UTF-8 is checked per event by the reader) and
//! never reconnects: a model's answer is not a feed.

use alloc::vec::Vec;
use core::mem;

/// The most bytes one line or one event's data may have.
pub const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// One event, borrowed from the framer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The value of the last `event` field, empty if there was none.
    pub name: &'a [u8],
    /// The values of the `data` fields, joined by newlines.
    pub data: &'a [u8],
}

/// A line or an event is larger than allowed; framing cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Oversize {
    /// The limit that was passed.
    pub bytes_max: usize,
}

/// Cuts a stream of bytes into events.
#[derive(Debug)]
pub struct Framer {
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    is_first_line: bool,
    skips_line_feed: bool,
    bytes_max: usize,
}

impl Default for Framer {
    fn default() -> Self {
        Self::new(EVENT_BYTES_MAX)
    }
}

impl Framer {
    /// A framer with a limit of its own.
    #[must_use]
    pub fn new(bytes_max: usize) -> Self {
        Self {
            line: Vec::new(),
            name: Vec::new(),
            data: Vec::new(),
            has_data: false,
            is_first_line: true,
            skips_line_feed: false,
            bytes_max,
        }
    }

    /// Takes the next bytes and hands out every event they complete, until `each` says `false`.
    ///
    /// # Errors
    ///
    /// A line or an event is over the limit. Do not push again.
    pub fn push(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(Frame<'_>) -> bool,
    ) -> Result<(), Oversize> {
        let mut rest = bytes;
        while let Some((first, after_first)) = rest.split_first() {
            if mem::take(&mut self.skips_line_feed) && *first == b'\n' {
                rest = after_first;
                continue;
            }
            let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let Some((line, tail)) = end.and_then(|at| rest.split_at_checked(at)) else {
                return self.hold(rest);
            };
            self.skips_line_feed = tail.first() == Some(&b'\r');
            rest = tail.get(1..).unwrap_or_default();
            if !self.end_line(line, &mut each)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The stream is over. Hands out an event whose lines are complete but whose closing blank line
    /// never came; some servers forget it. An unfinished line is dropped.
    pub fn finish(&mut self, each: impl FnOnce(Frame<'_>)) {
        if self.has_data && self.line.is_empty() {
            each(Frame { name: &self.name, data: &self.data });
        }
        self.clear_event();
    }

    fn hold(&mut self, bytes: &[u8]) -> Result<(), Oversize> {
        self.fits(self.line.len(), bytes.len())?;
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// A line is complete; most lie whole in one chunk and are read where they are.
    fn end_line(
        &mut self,
        end: &[u8],
        each: &mut impl FnMut(Frame<'_>) -> bool,
    ) -> Result<bool, Oversize> {
        if self.line.is_empty() {
            self.fits(0, end.len())?;
            return self.read_line(end, each);
        }
        self.hold(end)?;
        let mut line = mem::take(&mut self.line);
        let goes_on = self.read_line(&line, each);
        line.clear();
        line.shrink_to(KEPT_CAPACITY);
        self.line = line;
        goes_on
    }

    fn read_line(
        &mut self,
        line: &[u8],
        each: &mut impl FnMut(Frame<'_>) -> bool,
    ) -> Result<bool, Oversize> {
        let is_first = mem::take(&mut self.is_first_line);
        let line = if is_first { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line };
        if line.is_empty() {
            let goes_on = !self.has_data || each(Frame { name: &self.name, data: &self.data });
            self.clear_event();
            return Ok(goes_on);
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (field, value) = match colon.and_then(|at| line.split_at_checked(at)) {
            Some((field, value)) => (field, value.get(1..).unwrap_or_default()),
            None => (line, [].as_slice()),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => self.add_data(value)?,
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            _ => {}
        }
        Ok(true)
    }

    fn add_data(&mut self, value: &[u8]) -> Result<(), Oversize> {
        self.fits(self.data.len(), value.len().saturating_add(1))?;
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
        Ok(())
    }

    fn fits(&self, held: usize, added: usize) -> Result<(), Oversize> {
        if held.saturating_add(added) > self.bytes_max {
            return Err(Oversize { bytes_max: self.bytes_max });
        }
        Ok(())
    }

    fn clear_event(&mut self) {
        self.has_data = false;
        self.data.clear();
        self.data.shrink_to(KEPT_CAPACITY);
        self.name.clear();
        self.name.shrink_to(KEPT_CAPACITY);
    }
}

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// One giant event must not pin its memory for the rest of the stream.
const KEPT_CAPACITY: usize = 64 * 1024;
