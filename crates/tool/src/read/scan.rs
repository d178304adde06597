//! Goes through a file of any size for a range of its lines, in bounded memory.
//!
//! Lines before the range are only counted. A file too large to be read to its end is left where
//! the range ends, and on the way the places of some lines are noted, so that the next look into
//! it can begin near by.

use std::hash::{DefaultHasher, Hasher};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};

use super::lines::{Line, Range, Shown};
use crate::file::{Encoding, Opened, Point, TEXT_BYTES_MAX};

/// Files up to this size are read to their end, to count their lines and know their digest.
pub(super) const COUNTED_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// A line of a huge file is noted every so many bytes.
const POINT_EVERY: u64 = 4 * 1024 * 1024;
const POINTS_MAX: usize = 4_096;
const BUFFER_BYTES: usize = 128 * 1024;

/// What a pass through a file gives.
#[derive(Debug)]
pub(super) struct Scanned {
    pub(super) shown: Shown,
    /// `None` when it was not read from its start to its end.
    pub(super) digest: Option<u64>,
    /// All of it, if it is short.
    pub(super) content: Option<Vec<u8>>,
    pub(super) points: Vec<Point>,
}

/// Reads the range out of an open file. `known` are places noted before.
pub(super) fn file(
    opened: &Opened,
    encoding: Encoding,
    range: &Range,
    known: &[Point],
    stop: &dyn Fn() -> bool,
) -> io::Result<Scanned> {
    let bytes = opened.metadata.len();
    let is_huge = bytes > COUNTED_BYTES_MAX;
    let start = known.iter().rev().find(|point| is_huge && point.line <= range.first);
    let start = start.copied().unwrap_or(Point { line: 1, byte: 0 });
    (&opened.file).seek(SeekFrom::Start(start.byte))?;
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, &opened.file);
    let mut pass = Pass::new(encoding, range, start, is_huge);
    pass.keeps = bytes <= TEXT_BYTES_MAX;
    pass.points = known.to_vec();
    // A file that grows while it is read must not be followed for ever either.
    pass.bytes_max = bytes.saturating_add(COUNTED_BYTES_MAX);
    pass.run(&mut reader, stop)
}

/// Reads the range out of a text in memory.
pub(super) fn text(text: &str, range: &Range) -> io::Result<Shown> {
    let start = Point { line: 1, byte: 0 };
    let mut pass = Pass::new(Encoding::Utf8, range, start, false);
    Ok(pass.run(&mut text.as_bytes(), &|| false)?.shown)
}

struct Pass<'r> {
    range: &'r Range,
    shown: Shown,
    line: Line,
    digest: DefaultHasher,
    is_whole: bool,
    is_huge: bool,
    at: u64,
    bytes_max: u64,
    keeps: bool,
    content: Vec<u8>,
    points: Vec<Point>,
}

impl<'r> Pass<'r> {
    fn new(encoding: Encoding, range: &'r Range, start: Point, is_huge: bool) -> Self {
        let shown = Shown::new(encoding, start.line.saturating_sub(1));
        Self {
            range,
            shown,
            line: Line::default(),
            digest: DefaultHasher::new(),
            is_whole: start.byte == 0,
            is_huge,
            at: start.byte,
            bytes_max: u64::MAX,
            keeps: false,
            content: Vec::new(),
            points: Vec::new(),
        }
    }

    fn run(&mut self, reader: &mut dyn BufRead, stop: &dyn Fn() -> bool) -> io::Result<Scanned> {
        loop {
            if stop() {
                return Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted"));
            }
            let buffer = reader.fill_buf()?;
            if buffer.is_empty() {
                self.shown.end_line(&mut self.line, self.range);
                self.shown.is_counted = true;
                let digest = self.is_whole.then(|| self.digest.finish());
                return Ok(self.ended(digest));
            }
            if self.is_whole && !self.is_huge {
                self.digest.write(buffer);
            }
            if self.keeps {
                self.content.extend_from_slice(buffer);
            }
            self.take(buffer);
            let used = buffer.len();
            self.at = self.at.saturating_add(used as u64);
            reader.consume(used);
            if self.is_huge && self.is_done() || self.at > self.bytes_max {
                return Ok(self.ended(None));
            }
        }
    }

    fn ended(&mut self, digest: Option<u64>) -> Scanned {
        Scanned {
            shown: std::mem::take(&mut self.shown),
            digest: digest.filter(|_| !self.is_huge),
            content: self.keeps.then(|| std::mem::take(&mut self.content)),
            points: std::mem::take(&mut self.points),
        }
    }

    fn is_done(&self) -> bool {
        self.shown.total >= self.range.first.saturating_add(self.range.count) || self.shown.is_full
    }

    fn take(&mut self, buffer: &[u8]) {
        self.note_point(buffer);
        let mut rest = buffer;
        // Lines that will not be shown are only counted.
        let before = self.range.first.saturating_sub(1).saturating_sub(self.shown.total);
        if before > 0 {
            let count = memchr::memchr_iter(b'\n', buffer).count() as u64;
            if count < before {
                self.shown.total += count;
                self.line.has_any = !buffer.ends_with(b"\n");
                return;
            }
            let skipped = usize::try_from(before - 1).unwrap_or(usize::MAX);
            let at = memchr::memchr_iter(b'\n', buffer).nth(skipped).map_or(0, |at| at + 1);
            rest = buffer.get(at..).unwrap_or_default();
            self.shown.total += before;
            self.line = Line::default();
        }
        for piece in rest.split_inclusive(|byte| *byte == b'\n') {
            self.line.push(piece);
            if piece.ends_with(b"\n") {
                self.shown.end_line(&mut self.line, self.range);
            }
            if self.is_huge && self.is_done() {
                return;
            }
        }
    }

    /// Notes the first line that begins in this buffer, now and then.
    fn note_point(&mut self, buffer: &[u8]) {
        let last = self.points.last().map_or(0, |point| point.byte);
        if !self.is_huge || self.at < last + POINT_EVERY || self.points.len() >= POINTS_MAX {
            return;
        }
        if let Some(at) = memchr::memchr(b'\n', buffer) {
            let line = self.shown.total + 2;
            self.points.push(Point { line, byte: self.at + at as u64 + 1 });
        }
    }
}
