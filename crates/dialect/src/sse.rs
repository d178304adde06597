//! Parses server-sent events from chunks of bytes.
//!
//! Follows the specification of the format: a byte order mark is skipped, lines end in CR, LF or
//! CRLF, comments and unknown fields are dropped, several data lines are joined by a newline, an
//! event without data is no event. How the bytes were cut into chunks never matters. One line and
//! one event are bounded. It does not decode text (UTF-8 is checked per event by the reader) and
//! never reconnects: a model's answer is not a feed.

use alloc::vec::Vec;
use core::mem;

use memchr::{memchr, memchr2};

/// Limit on the bytes of one line, or of one event's data.
pub const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// One event, borrowed from the framer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseFrame<'a> {
    /// The value of the last `event` field, empty if there was none.
    pub name: &'a [u8],
    /// The values of the `data` fields, joined by newlines.
    pub data: &'a [u8],
}

/// A line or an event is larger than allowed; framing cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SseEventTooLarge {
    /// The limit that was passed.
    pub bytes_max: usize,
}

/// Cuts a stream of bytes into events.
#[derive(Debug)]
pub struct SseFramer {
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    is_first_line: bool,
    skips_line_feed: bool,
    bytes_max: usize,
}

impl Default for SseFramer {
    fn default() -> Self {
        Self::new(EVENT_BYTES_MAX)
    }
}

impl SseFramer {
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

    /// Takes the next bytes and passes on every event they complete, until `each` returns `false`.
    ///
    /// # Errors
    ///
    /// A line or an event is over the limit. Do not push again.
    pub fn push(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(SseFrame<'_>) -> bool,
    ) -> Result<(), SseEventTooLarge> {
        let mut rest = bytes;
        loop {
            if self.is_between_events() {
                while let Some((frame, after)) = self.split_whole_event(rest) {
                    if !each(frame) {
                        return Ok(());
                    }
                    rest = after;
                }
            }
            let Some((first, after_first)) = rest.split_first() else { return Ok(()) };
            if mem::take(&mut self.skips_line_feed) && *first == b'\n' {
                rest = after_first;
                continue;
            }
            let end = memchr2(b'\n', b'\r', rest);
            let Some((line, tail)) = end.and_then(|at| rest.split_at_checked(at)) else {
                return self.buffer_line(rest);
            };
            self.skips_line_feed = tail.first() == Some(&b'\r');
            rest = tail.get(1..).unwrap_or_default();
            if !self.end_line(line, &mut each)? {
                return Ok(());
            }
        }
    }

    /// Does the next byte begin a line of a new event?
    fn is_between_events(&self) -> bool {
        let is_clean = !self.has_data && self.line.is_empty() && self.name.is_empty();
        is_clean && !self.is_first_line && !self.skips_line_feed
    }

    /// An event that lies whole in the chunk in its usual form (a name or none, one line of data,
    /// a blank line) is read where it is; nine in ten do. Anything else goes line by line.
    fn split_whole_event<'a>(&self, bytes: &'a [u8]) -> Option<(SseFrame<'a>, &'a [u8])> {
        let (name, rest) = match bytes.strip_prefix(b"event: ") {
            Some(named) => split_line(named)?,
            None => ([].as_slice(), bytes),
        };
        let rest = rest.strip_prefix(b"data: ")?;
        let (data, after_data) = split_line(rest)?;
        let after = after_data.strip_prefix(b"\n").or_else(|| after_data.strip_prefix(b"\r\n"))?;
        if data.len().max(name.len()) >= self.bytes_max.checked_sub(FIELD_BYTES)? {
            return None;
        }
        Some((SseFrame { name, data }, after))
    }

    /// The stream is over. Passes on an event whose lines are complete but whose closing blank line
    /// never came; some servers forget it. An unfinished line is dropped.
    pub fn finish(&mut self, each: impl FnOnce(SseFrame<'_>)) {
        if self.has_data && self.line.is_empty() {
            each(self.current_frame());
        }
        self.clear_event();
    }

    fn current_frame(&self) -> SseFrame<'_> {
        SseFrame { name: &self.name, data: &self.data }
    }

    fn buffer_line(&mut self, bytes: &[u8]) -> Result<(), SseEventTooLarge> {
        self.check_fits(self.line.len(), bytes.len())?;
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// A line is complete; most lie whole in one chunk and are read where they are.
    fn end_line(
        &mut self,
        end: &[u8],
        each: &mut impl FnMut(SseFrame<'_>) -> bool,
    ) -> Result<bool, SseEventTooLarge> {
        if self.line.is_empty() {
            self.check_fits(0, end.len())?;
            return self.read_line(end, each);
        }
        self.buffer_line(end)?;
        let mut line = mem::take(&mut self.line);
        let goes_on = self.read_line(&line, each);
        line.clear();
        line.shrink_to(RETAINED_CAPACITY);
        self.line = line;
        goes_on
    }

    fn read_line(
        &mut self,
        line: &[u8],
        each: &mut impl FnMut(SseFrame<'_>) -> bool,
    ) -> Result<bool, SseEventTooLarge> {
        let is_first = mem::take(&mut self.is_first_line);
        let line = if is_first { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line };
        if line.is_empty() {
            let goes_on = !self.has_data || each(self.current_frame());
            self.clear_event();
            return Ok(goes_on);
        }
        let colon = memchr(b':', line);
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

    fn add_data(&mut self, value: &[u8]) -> Result<(), SseEventTooLarge> {
        self.check_fits(self.data.len(), value.len().saturating_add(1))?;
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
        Ok(())
    }

    fn check_fits(&self, held: usize, added: usize) -> Result<(), SseEventTooLarge> {
        if held.saturating_add(added) > self.bytes_max {
            return Err(SseEventTooLarge { bytes_max: self.bytes_max });
        }
        Ok(())
    }

    fn clear_event(&mut self) {
        self.has_data = false;
        self.data.clear();
        self.data.shrink_to(RETAINED_CAPACITY);
        self.name.clear();
        self.name.shrink_to(RETAINED_CAPACITY);
    }
}

/// A line and what follows it. Carriage returns alone are read line by line, as is a line whose
/// end is the chunk's end and may be half of one.
fn split_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (line, rest) = bytes.split_at_checked(memchr2(b'\n', b'\r', bytes)?)?;
    let rest = rest.strip_prefix(b"\n").or_else(|| rest.strip_prefix(b"\r\n"))?;
    Some((line, rest))
}

/// `event: `, the longer of the two fields.
const FIELD_BYTES: usize = 7;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// One giant event must not pin its memory for the rest of the stream.
const RETAINED_CAPACITY: usize = 64 * 1024;
