//! A text as its reader sees it: without terminal colours and characters of no width, and with
//! escapes resolved. A key that is written with escapes, or that a colour interrupts, is found here;
//! each place is known in the text as it is written.
//!
//! Resolves one level of the escapes of Markdown, JSON, URLs and HTML. Decides nothing about keys.

use std::ops::Range;

pub(crate) struct VisibleText {
    pub(crate) bytes: Vec<u8>,
    spans: Vec<VisibleSpan>,
}

/// Bytes that are adjacent in both texts, or one byte that is written as an escape.
struct VisibleSpan {
    start: usize,
    raw: Range<usize>,
    is_escape: bool,
}

/// The meaning of a hidden piece of text, and its length.
struct HiddenPiece {
    len: usize,
    shown: Option<u8>,
}

impl VisibleText {
    /// `None` if the text is seen as it is written.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let raw = text.as_bytes();
        let mut visible = Self { bytes: Vec::new(), spans: Vec::new() };
        let (mut at, mut plain) = (0, 0);
        while let Some(byte) = raw.get(at) {
            let piece = may_hide(*byte).then(|| read_hidden(text, at)).flatten();
            let Some(HiddenPiece { len, shown }) = piece else {
                at += 1;
                continue;
            };
            visible.push_plain(raw, plain..at);
            if let Some(shown) = shown {
                let start = visible.bytes.len();
                let raw = at..at + len;
                visible.spans.push(VisibleSpan { start, raw, is_escape: true });
                visible.bytes.push(shown);
            }
            at += len;
            plain = at;
        }
        if plain == 0 {
            return None;
        }
        visible.push_plain(raw, plain..raw.len());
        Some(visible)
    }

    fn push_plain(&mut self, text: &[u8], raw: Range<usize>) {
        if let Some(bytes) = text.get(raw.clone()).filter(|bytes| !bytes.is_empty()) {
            self.spans.push(VisibleSpan { start: self.bytes.len(), raw, is_escape: false });
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Where a range that is not empty is written.
    pub(crate) fn raw_range(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let (first, first_raw) = self.find_span(range.start)?;
        let (last, last_raw) = self.find_span(range.end.checked_sub(1)?)?;
        let start = if first.is_escape { first.raw.start } else { first_raw };
        let end = if last.is_escape { last.raw.end } else { last_raw + 1 };
        Some(start..end)
    }

    /// The span of a visible byte, and where it would be written without escapes.
    fn find_span(&self, at: usize) -> Option<(&VisibleSpan, usize)> {
        let place = self.spans.partition_point(|span| span.start <= at).checked_sub(1)?;
        let span = self.spans.get(place)?;
        Some((span, span.raw.start + (at - span.start)))
    }
}

/// Bytes with which a hidden piece may begin: escapes, and the first bytes of characters of no width.
fn may_hide(byte: u8) -> bool {
    matches!(byte, 0x1b | b'\\' | b'%' | b'&' | 0xc2 | 0xcd | 0xe1 | 0xe2 | 0xef)
}

fn read_hidden(text: &str, at: usize) -> Option<HiddenPiece> {
    let rest = text.get(at..)?;
    let hidden = |len| Some(HiddenPiece { len, shown: None });
    let shown = |len, shown: u8| Some(HiddenPiece { len, shown: Some(shown) });
    if let Some(after) = rest.strip_prefix('\x1b') {
        return hidden(1 + terminal_sequence_len(after.as_bytes()));
    }
    if let Some(after) = rest.strip_prefix('\\') {
        // A colour in text that is itself written as a string.
        for written in ["u001b[", "u001B[", "x1b[", "x1B[", "033[", "e["] {
            if let Some(sequence) = after.strip_prefix(written) {
                return hidden(1 + written.len() + control_sequence_len(sequence.as_bytes()));
            }
        }
        if let Some(code) = after.strip_prefix('u').and_then(|code| read_hex(code, 4)) {
            return match char::from_u32(code) {
                Some(c) if is_of_no_width(c) => hidden(6),
                _ => shown(6, ascii_of(code)?),
            };
        }
        if let Some(code) = after.strip_prefix('x').and_then(|code| read_hex(code, 2)) {
            return shown(4, ascii_of(code)?);
        }
        let next = *after.as_bytes().first()?;
        return if next.is_ascii_punctuation() { shown(2, next) } else { None };
    }
    if let Some(code) = rest.strip_prefix('%').and_then(|code| read_hex(code, 2)) {
        return shown(3, ascii_of(code)?);
    }
    if let Some(after) = rest.strip_prefix("&#") {
        let end = after.bytes().take(7).position(|byte| byte == b';')?;
        let digits = after.get(..end)?;
        let code = match digits.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => digits.parse().ok()?,
        };
        return shown(2 + end + 1, ascii_of(code)?);
    }
    let first = rest.chars().next().filter(|first| is_of_no_width(*first))?;
    hidden(first.len_utf8())
}

/// The value of this many hexadecimal digits.
fn read_hex(text: &str, digits: usize) -> Option<u32> {
    let digits = text.get(..digits).filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u32::from_str_radix(digits, 16).ok()
}

/// Only what may be part of a key: an escaped line break stays an escape.
fn ascii_of(code: u32) -> Option<u8> {
    u8::try_from(code).ok().filter(u8::is_ascii_graphic)
}

/// The length of the sequence after an escape character.
fn terminal_sequence_len(after: &[u8]) -> usize {
    match after {
        [b'[', rest @ ..] => 1 + control_sequence_len(rest),
        // A title or a link, which ends with a bell or an escape and a backslash.
        [b']', rest @ ..] => {
            let rest = rest.get(..rest.len().min(COMMAND_MAX)).unwrap_or_default();
            let end = rest.iter().position(|byte| matches!(byte, 0x07 | 0x1b));
            1 + end.map_or(0, |end| end + if rest.get(end) == Some(&0x07) { 1 } else { 0 })
        }
        [b'(' | b')' | b'#', byte, ..] if byte.is_ascii() => 2,
        [byte, ..] if byte.is_ascii() => 1,
        _ => 0,
    }
}

/// The parameters and the final byte of a control sequence.
fn control_sequence_len(rest: &[u8]) -> usize {
    let parameters =
        rest.iter().take(PARAMETERS_MAX).take_while(|byte| matches!(byte, 0x20..=0x3f)).count();
    let has_end = rest.get(parameters).is_some_and(|byte| matches!(byte, 0x40..=0x7e));
    parameters + usize::from(has_end)
}

fn is_of_no_width(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
    )
}

const COMMAND_MAX: usize = 4 * 1024;
const PARAMETERS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn visible(text: &str) -> String {
        let read = VisibleText::read(text);
        String::from_utf8(read.map_or_else(|| text.into(), |read| read.bytes)).unwrap()
    }

    #[test]
    fn escapes_are_resolved_and_colours_are_gone() {
        for (text, seen) in [
            ("plain ü text\\n", "plain ü text\\n"),
            ("\x1b[01;31m\x1b[Kab\x1b[m\x1b[Kc", "abc"),
            ("\\u001b[32ma\\u005fb\\/c", "a_b/c"),
            ("a\\_b&#95;c&#x5f;d%5Fe", "a_b_c_d_e"),
            ("a\u{200b}b\u{ad}c\u{feff}", "abc"),
            ("\x1b]8;;http://x\x1b\\a\x1b]0;t\x07b", "ab"),
            ("\x1b", ""),
            ("%zz & \\ü \\", "%zz & \\ü \\"),
        ] {
            assert_eq!(visible(text), seen, "{text:?}");
        }
    }

    #[test]
    fn every_place_is_known_in_the_text_as_it_is_written() {
        let text = "x \x1b[1mab\x1b[m\\_c\u{200b}d y";
        let read = VisibleText::read(text).unwrap();
        assert_eq!(read.bytes, b"x ab_cd y");
        for (range, written) in
            [(2..7, "ab\x1b[m\\_c\u{200b}d"), (4..5, "\\_"), (3..4, "b"), (0..9, text)]
        {
            assert_eq!(text.get(read.raw_range(&range).unwrap()), Some(written), "{range:?}");
        }
    }
}
