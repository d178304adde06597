//! A range of lines out of a file of any size, in bounded memory.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use crate::file::Opened;
use crate::output::text_of;

/// Characters of a line that are shown.
const LINE_CHARS_MAX: usize = 2_000;
/// Bytes of a line that are looked at; the longest character has four.
const LINE_BYTES_MAX: usize = LINE_CHARS_MAX * 4;
/// Bytes shown in all.
const SHOWN_BYTES_MAX: usize = 100_000;
/// Files up to this size are read to their end, to count their lines and know their digest.
const COUNTED_BYTES_MAX: u64 = 32 * 1024 * 1024;
const START_BYTES: u64 = 8 * 1024;

/// The lines wanted; the first is 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub(super) first: u64,
    pub(super) count: u64,
}

/// What there is to show.
#[derive(Debug, Default)]
pub(super) struct Shown {
    pub(super) content: String,
    pub(super) lines: u64,
    /// Lines of the file, or as many as were counted.
    pub(super) total: u64,
    pub(super) digest: Option<u64>,
    is_counted: bool,
    lines_cut: u64,
    is_full: bool,
    has_crlf: bool,
}

/// The first bytes, with the file put back to its start.
pub(super) fn start_of(file: &mut File) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    file.take(START_BYTES).read_to_end(&mut start)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(start)
}

/// All of a file, unless it has grown over the limit since it was measured.
pub(super) fn all(file: &File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(bytes_max.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > bytes_max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it grew while it was read"));
    }
    Ok(content)
}

/// Why this is not text, if it is not.
pub(super) fn binary(start: &[u8]) -> Option<&'static str> {
    match start {
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => {
            Some("UTF-16 text (convert it with `iconv -f UTF-16`)")
        }
        [b'%', b'P', b'D', b'F', b'-', ..] => Some("a PDF document"),
        _ if start.contains(&0) => Some("a binary file"),
        _ => None,
    }
}

/// Reads the range. A file too large to be read to its end is left where the range ends.
pub(super) fn read(opened: &Opened, range: &Range, stop: &dyn Fn() -> bool) -> io::Result<Shown> {
    let counts_all = opened.metadata.len() <= COUNTED_BYTES_MAX;
    let mut reader = BufReader::with_capacity(64 * 1024, &opened.file);
    let mut shown = Shown::default();
    let mut digest = DefaultHasher::new();
    let mut line = Line::default();
    let mut seen: u64 = 0;
    loop {
        if stop() {
            return Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted"));
        }
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            shown.end_line(&mut line, range);
            shown.is_counted = true;
            shown.digest = Some(digest.finish());
            return Ok(shown);
        }
        digest.write(buffer);
        for piece in buffer.split_inclusive(|byte| *byte == b'\n') {
            line.push(piece);
            if piece.ends_with(b"\n") {
                shown.end_line(&mut line, range);
            }
        }
        let used = buffer.len();
        seen = seen.saturating_add(used as u64);
        reader.consume(used);
        let is_done = shown.total >= range.first.saturating_add(range.count) || shown.is_full;
        // A file that grows while it is read must not be followed for ever either.
        if (!counts_all && is_done)
            || seen > opened.metadata.len().saturating_add(COUNTED_BYTES_MAX)
        {
            return Ok(shown);
        }
    }
}

/// The line being read, as far as it will be shown.
#[derive(Default)]
struct Line {
    bytes: Vec<u8>,
    has_any: bool,
    is_cut: bool,
}

impl Line {
    fn push(&mut self, piece: &[u8]) {
        self.has_any = true;
        let room = LINE_BYTES_MAX.saturating_sub(self.bytes.len());
        self.is_cut |= piece.len() > room;
        self.bytes.extend_from_slice(piece.get(..room).unwrap_or(piece));
    }
}

impl Shown {
    fn end_line(&mut self, line: &mut Line, range: &Range) {
        if !line.has_any {
            return;
        }
        self.total += 1;
        let wanted = self.total >= range.first && self.total - range.first < range.count;
        if wanted && !self.is_full {
            self.show(line);
        }
        line.bytes.clear();
        line.has_any = false;
        line.is_cut = false;
    }

    fn show(&mut self, line: &Line) {
        let bytes = line.bytes.strip_suffix(b"\n").unwrap_or(&line.bytes);
        let bytes = if self.total == 1 { without_mark(bytes) } else { bytes };
        let mut text = text_of(bytes);
        if text.ends_with('\r') {
            self.has_crlf = true;
            text.pop();
        }
        if let Some((at, _)) = text.char_indices().nth(LINE_CHARS_MAX) {
            text.truncate(at);
            self.lines_cut += 1;
        } else if line.is_cut {
            self.lines_cut += 1;
        }
        if self.lines > 0 && self.content.len() + text.len() > SHOWN_BYTES_MAX {
            self.is_full = true;
            return;
        }
        if self.lines > 0 {
            self.content.push('\n');
        }
        self.content.push_str(&text);
        self.lines += 1;
    }

    /// The lines with their numbers in front.
    pub(super) fn numbered(&self, first: u64) -> String {
        let mut text = String::with_capacity(self.content.len() + self.content.len() / 4);
        if self.lines > 0 {
            for (number, line) in (first..).zip(self.content.split('\n')) {
                text.push_str(&format!("{number:>6}\t{line}\n"));
            }
        }
        text
    }

    /// What the lines themselves do not show.
    pub(super) fn remarks(&self, range: &Range) -> Vec<String> {
        let mut remarks = Vec::new();
        let next = range.first.saturating_add(self.lines);
        if self.total == 0 {
            remarks.push("[The file is empty]".to_owned());
        } else if self.is_full || (self.is_counted && next <= self.total) {
            remarks.push(match self.is_counted {
                true => format!("[{} lines in all; the next is offset {next}]", self.total),
                false => format!("[More lines follow; the next is offset {next}]"),
            });
        } else if !self.is_counted {
            remarks.push(format!("[More may follow; the next line is offset {next}]"));
        }
        if self.lines_cut > 0 {
            remarks.push(format!(
                "[{} lines were cut at {LINE_CHARS_MAX} characters]",
                self.lines_cut
            ));
        }
        if self.has_crlf {
            remarks.push("[Lines end in CR LF]".to_owned());
        }
        remarks
    }
}

fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)
}
