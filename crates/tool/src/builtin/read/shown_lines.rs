//! Formats lines: decoded, truncated, numbered, with remarks about what is not shown.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use crate::file::TextEncoding;

const LINE_CHARS_MAX: usize = 2_000;
/// Bytes examined of a line; a character has at most four.
const LINE_BYTES_MAX: usize = LINE_CHARS_MAX * 4;
const SHOWN_BYTES_MAX: usize = 100_000;
const START_BYTES: u64 = 8 * 1024;

/// A range of lines, counted from 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct LineRange {
    pub(super) first: u64,
    pub(super) count: u64,
    pub(super) bytes_max: usize,
}

impl LineRange {
    pub(super) fn new(first: u64, count: u64) -> Self {
        Self { first, count, bytes_max: SHOWN_BYTES_MAX }
    }
}

#[derive(Debug)]
pub(super) struct ShownLines {
    pub(super) content: String,
    pub(super) line_count: u64,
    /// Lines of the file, or as many as were counted.
    pub(super) total_lines: u64,
    pub(super) is_counted: bool,
    pub(super) is_full: bool,
    /// Part of the text is invalid in the encoding.
    pub(super) has_invalid_text: bool,
    encoding: TextEncoding,
    cut_line_count: u64,
    has_crlf: bool,
}

impl Default for ShownLines {
    fn default() -> Self {
        Self::new(TextEncoding::Utf8, 0)
    }
}

/// Reads the first bytes, then seeks back to the start.
pub(super) fn read_start(file: &mut File) -> io::Result<Vec<u8>> {
    read_start_up_to(file, START_BYTES)
}

pub(super) fn read_start_up_to(file: &mut File, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(bytes_max).read_to_end(&mut start)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(start)
}

pub(super) fn detect_binary(start: &[u8]) -> Option<&'static str> {
    let kind =
        MAGIC_NUMBERS.iter().find(|(magic, _)| start.starts_with(magic)).map(|(_, kind)| *kind);
    kind.filter(|_| start.contains(&0) || std::str::from_utf8(start).is_err())
        .or_else(|| start.contains(&0).then_some("a binary file"))
}

/// Known file types, for a better message than "binary".
const MAGIC_NUMBERS: &[(&[u8], &str)] = &[
    (b"\x7FELF", "a program (ELF)"),
    (b"MZ", "a program for Windows"),
    (b"PK\x03\x04", "a ZIP archive, or a document packed as one; list it with `unzip -l`"),
    (b"\x1F\x8B", "compressed with gzip; look into it with `zcat`"),
    (b"\xFD7zXZ", "compressed with xz; look into it with `xzcat`"),
    (b"\x28\xB5\x2F\xFD", "compressed with zstd; look into it with `zstdcat`"),
    (b"SQLite format 3\0", "an SQLite database; look into it with `sqlite3`"),
];

/// The part of the current line that will be shown.
#[derive(Debug, Default)]
pub(super) struct LineBuffer {
    bytes: Vec<u8>,
    pub(super) has_any: bool,
    is_cut: bool,
}

impl LineBuffer {
    pub(super) fn push(&mut self, piece: &[u8]) {
        self.has_any = true;
        let room = LINE_BYTES_MAX.saturating_sub(self.bytes.len());
        self.is_cut |= piece.len() > room;
        self.bytes.extend_from_slice(piece.get(..room).unwrap_or(piece));
    }
}

impl ShownLines {
    pub(super) fn new(encoding: TextEncoding, total_lines: u64) -> Self {
        Self {
            content: String::new(),
            line_count: 0,
            total_lines,
            is_counted: false,
            is_full: false,
            has_invalid_text: false,
            encoding,
            cut_line_count: 0,
            has_crlf: false,
        }
    }

    pub(super) fn end_line(&mut self, line: &mut LineBuffer, range: &LineRange) {
        if !line.has_any {
            return;
        }
        self.total_lines += 1;
        let wanted =
            self.total_lines >= range.first && self.total_lines - range.first < range.count;
        if wanted && !self.is_full {
            self.push_line(line, range);
        }
        line.bytes.clear();
        line.has_any = false;
        line.is_cut = false;
    }

    fn push_line(&mut self, line: &LineBuffer, range: &LineRange) {
        let bytes = line.bytes.strip_suffix(b"\n").unwrap_or(&line.bytes);
        let bytes = if self.total_lines == 1 { strip_byte_order_mark(bytes) } else { bytes };
        self.has_invalid_text |= !line.is_cut && std::str::from_utf8(bytes).is_err();
        let mut text = self.encoding.decode(bytes).replace('\0', "\u{fffd}");
        if text.ends_with('\r') {
            self.has_crlf = true;
            text.pop();
        }
        if let Some((at, _)) = text.char_indices().nth(LINE_CHARS_MAX) {
            text.truncate(at);
            self.cut_line_count += 1;
        } else if line.is_cut {
            self.cut_line_count += 1;
        }
        if self.line_count > 0 && self.content.len() + text.len() > range.bytes_max {
            self.is_full = true;
            return;
        }
        if self.line_count > 0 {
            self.content.push('\n');
        }
        self.content.push_str(&text);
        self.line_count += 1;
    }

    pub(super) fn render_numbered(&self, first: u64) -> String {
        let mut text = String::with_capacity(self.content.len() + self.content.len() / 4);
        if self.line_count > 0 {
            for (number, line) in (first..).zip(self.content.split('\n')) {
                text.push_str(&format!("{number:>6}\t{line}\n"));
            }
        }
        text
    }

    pub(super) fn build_remarks(&self, range: &LineRange, encoding: TextEncoding) -> Vec<String> {
        let mut remarks = Vec::new();
        let next = range.first.saturating_add(self.line_count);
        if self.total_lines == 0 {
            remarks.push("[The file is empty]".to_owned());
        } else if self.is_full || (self.is_counted && next <= self.total_lines) {
            remarks.push(match self.is_counted {
                true => format!("[{} lines in all; the next is offset {next}]", self.total_lines),
                false => format!("[More lines follow; the next is offset {next}]"),
            });
        } else if !self.is_counted {
            remarks.push(format!("[More may follow; the next line is offset {next}]"));
        }
        if self.cut_line_count > 0 {
            remarks.push(format!(
                "[{} lines were cut at {LINE_CHARS_MAX} characters]",
                self.cut_line_count
            ));
        }
        if self.has_crlf {
            remarks.push("[Lines end in CR LF]".to_owned());
        }
        if encoding != TextEncoding::Utf8 {
            remarks.push(format!("[The file is written in {}; edits keep that]", encoding.name()));
        }
        remarks
    }
}

fn strip_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)
}
