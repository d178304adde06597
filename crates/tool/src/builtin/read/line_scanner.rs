//! Scans a file of any size for a range of lines, with bounded memory.
//!
//! Lines before the range are only counted. A file too large to be read completely is left at the
//! end of the range, and the offsets of some lines are remembered, so that the next read can start
//! nearby.

use std::hash::{DefaultHasher, Hasher};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};

use super::shown_lines::{LineBuffer, LineRange, ShownLines};
use crate::file::{LineOffset, OpenedFile, TEXT_BYTES_MAX, TextEncoding};

/// Files up to this size are read completely, to count their lines and compute their hash.
pub(super) const COUNTED_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// The interval of remembered line offsets in a huge file.
const LINE_OFFSET_EVERY: u64 = 4 * 1024 * 1024;
const LINE_OFFSETS_MAX: usize = 4_096;
const BUFFER_BYTES: usize = 128 * 1024;

#[derive(Debug)]
pub(super) struct LineScan {
    pub(super) shown: ShownLines,
    /// `None` unless the file was read completely.
    pub(super) digest: Option<u64>,
    /// The complete content, if it is short.
    pub(super) content: Option<Vec<u8>>,
    pub(super) line_offsets: Vec<LineOffset>,
}

/// Reads the range from an open file. `known` are offsets of earlier reads.
pub(super) fn scan_file(
    opened: &OpenedFile,
    encoding: TextEncoding,
    range: &LineRange,
    known: &[LineOffset],
    stop: &dyn Fn() -> bool,
) -> io::Result<LineScan> {
    let bytes = opened.metadata.len();
    let is_huge = bytes > COUNTED_BYTES_MAX;
    let start = known.iter().rev().find(|point| is_huge && point.line <= range.first);
    let start = start.copied().unwrap_or(LineOffset { line: 1, byte: 0 });
    (&opened.file).seek(SeekFrom::Start(start.byte))?;
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, &opened.file);
    let mut pass = LineScanner::new(encoding, range, start, is_huge);
    pass.stores_content = bytes <= TEXT_BYTES_MAX;
    pass.line_offsets = known.to_vec();
    // A file that grows while it is read must not be followed forever.
    pass.bytes_max = bytes.saturating_add(COUNTED_BYTES_MAX);
    pass.run(&mut reader, stop)
}

pub(super) fn scan_text(text: &str, range: &LineRange) -> io::Result<ShownLines> {
    let start = LineOffset { line: 1, byte: 0 };
    let mut pass = LineScanner::new(TextEncoding::Utf8, range, start, false);
    Ok(pass.run(&mut text.as_bytes(), &|| false)?.shown)
}

struct LineScanner<'r> {
    range: &'r LineRange,
    shown: ShownLines,
    line: LineBuffer,
    digest: DefaultHasher,
    is_from_start: bool,
    is_huge: bool,
    position: u64,
    bytes_max: u64,
    stores_content: bool,
    content: Vec<u8>,
    line_offsets: Vec<LineOffset>,
}

impl<'r> LineScanner<'r> {
    fn new(encoding: TextEncoding, range: &'r LineRange, start: LineOffset, is_huge: bool) -> Self {
        let shown = ShownLines::new(encoding, start.line.saturating_sub(1));
        Self {
            range,
            shown,
            line: LineBuffer::default(),
            digest: DefaultHasher::new(),
            is_from_start: start.byte == 0,
            is_huge,
            position: start.byte,
            bytes_max: u64::MAX,
            stores_content: false,
            content: Vec::new(),
            line_offsets: Vec::new(),
        }
    }

    fn run(&mut self, reader: &mut dyn BufRead, stop: &dyn Fn() -> bool) -> io::Result<LineScan> {
        loop {
            if stop() {
                return Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted"));
            }
            let buffer = reader.fill_buf()?;
            if buffer.is_empty() {
                self.shown.end_line(&mut self.line, self.range);
                self.shown.is_counted = true;
                let digest = self.is_from_start.then(|| self.digest.finish());
                return Ok(self.finish(digest));
            }
            if self.is_from_start && !self.is_huge {
                self.digest.write(buffer);
            }
            if self.stores_content {
                self.content.extend_from_slice(buffer);
            }
            self.consume(buffer);
            let used = buffer.len();
            self.position = self.position.saturating_add(used as u64);
            reader.consume(used);
            if self.is_huge && self.is_done() || self.position > self.bytes_max {
                return Ok(self.finish(None));
            }
        }
    }

    fn finish(&mut self, digest: Option<u64>) -> LineScan {
        LineScan {
            shown: std::mem::take(&mut self.shown),
            digest: digest.filter(|_| !self.is_huge),
            content: self.stores_content.then(|| std::mem::take(&mut self.content)),
            line_offsets: std::mem::take(&mut self.line_offsets),
        }
    }

    fn is_done(&self) -> bool {
        self.shown.total_lines >= self.range.first.saturating_add(self.range.count)
            || self.shown.is_full
    }

    fn consume(&mut self, buffer: &[u8]) {
        self.note_line_offset(buffer);
        let mut rest = buffer;
        // Lines that are not shown are only counted.
        let before = self.range.first.saturating_sub(1).saturating_sub(self.shown.total_lines);
        if before > 0 {
            let count = memchr::memchr_iter(b'\n', buffer).count() as u64;
            if count < before {
                self.shown.total_lines += count;
                self.line.has_any = !buffer.ends_with(b"\n");
                return;
            }
            let skipped = usize::try_from(before - 1).unwrap_or(usize::MAX);
            let at = memchr::memchr_iter(b'\n', buffer).nth(skipped).map_or(0, |at| at + 1);
            rest = buffer.get(at..).unwrap_or_default();
            self.shown.total_lines += before;
            self.line = LineBuffer::default();
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

    /// Remembers the offset of the first line in this buffer, at intervals.
    fn note_line_offset(&mut self, buffer: &[u8]) {
        let last = self.line_offsets.last().map_or(0, |point| point.byte);
        if !self.is_huge
            || self.position < last + LINE_OFFSET_EVERY
            || self.line_offsets.len() >= LINE_OFFSETS_MAX
        {
            return;
        }
        if let Some(at) = memchr::memchr(b'\n', buffer) {
            let line = self.shown.total_lines + 2;
            self.line_offsets.push(LineOffset { line, byte: self.position + at as u64 + 1 });
        }
    }
}
