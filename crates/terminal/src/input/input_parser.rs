//! From bytes to keys, however the bytes are cut. Nothing a terminal sends is lost or taken for
//! something else: what is not understood is left out whole.

use super::bracketed_paste::BracketedPaste;
use super::escape_sequence;
use super::key::{InputKey, TerminalInput, parse_control_byte, with_alt};

/// Bytes that are not a key yet.
#[derive(Debug, Default)]
pub struct InputParser {
    pending: Vec<u8>,
    paste: Option<BracketedPaste>,
}

/// What stands at the beginning of what is pending.
enum ParsedInput {
    /// Something, or nothing that means anything, and how many bytes it took.
    Complete(Option<TerminalInput>, usize),
    /// A paste begins behind so many bytes.
    PasteStart(usize),
    /// More must come.
    Incomplete,
}

impl InputParser {
    /// Takes bytes in, and gives what they mean.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<TerminalInput> {
        let mut typed = Vec::new();
        if let Some(paste) = &mut self.paste {
            let Some((text, rest)) = paste.feed(bytes) else { return typed };
            self.paste = None;
            typed.push(TerminalInput::Key(InputKey::Paste(text)));
            self.pending.extend_from_slice(&rest);
        } else {
            self.pending.extend_from_slice(bytes);
        }
        self.drain_pending(&mut typed, false);
        typed
    }

    /// Does something wait for more bytes that may never come?
    #[must_use]
    pub fn has_partial_sequence(&self) -> bool {
        !self.pending.is_empty()
    }

    /// No more bytes came: what is pending means what it means alone.
    pub fn flush_pending(&mut self) -> Vec<TerminalInput> {
        let mut typed = Vec::new();
        self.drain_pending(&mut typed, true);
        typed
    }

    fn drain_pending(&mut self, typed: &mut Vec<TerminalInput>, is_settled: bool) {
        let mut at = 0;
        while let Some(rest) = self.pending.get(at..).filter(|rest| !rest.is_empty()) {
            match parse_next(rest) {
                ParsedInput::Complete(meant, count) => {
                    typed.extend(meant);
                    at += count;
                }
                ParsedInput::PasteStart(count) => {
                    let rest = rest.get(count..).unwrap_or_default().to_vec();
                    self.pending.clear();
                    self.paste = Some(BracketedPaste::default());
                    typed.extend(self.feed(&rest));
                    return;
                }
                ParsedInput::Incomplete if is_settled => {
                    // An escape alone is the key; an unfinished sequence is nothing.
                    let is_key = rest == [ESCAPE];
                    typed.extend(is_key.then_some(TerminalInput::Key(InputKey::Escape)));
                    at = self.pending.len();
                }
                ParsedInput::Incomplete if rest.len() > SEQUENCE_MAX => at = self.pending.len(),
                ParsedInput::Incomplete => break,
            }
        }
        self.pending.drain(..at);
    }
}

fn parse_next(bytes: &[u8]) -> ParsedInput {
    match bytes {
        [ESCAPE] => ParsedInput::Incomplete,
        // Escape twice, or before a sequence: the first is the key.
        [ESCAPE, ESCAPE, ..] => {
            ParsedInput::Complete(Some(TerminalInput::Key(InputKey::Escape)), 1)
        }
        [ESCAPE, b'[', rest @ ..] => parse_control_sequence(rest),
        [ESCAPE, b'O', rest @ ..] => match rest {
            [] => ParsedInput::Incomplete,
            [last, ..] => {
                ParsedInput::Complete(escape_sequence::decode_control_sequence(b"", *last), 3)
            }
        },
        [ESCAPE, b']' | b'P' | b'_' | b'^' | b'X', rest @ ..] => parse_terminal_reply(rest),
        [ESCAPE, rest @ ..] => match parse_plain(rest) {
            ParsedInput::Complete(Some(TerminalInput::Key(key)), count) => {
                ParsedInput::Complete(with_alt(&key).map(TerminalInput::Key), count + 1)
            }
            ParsedInput::Complete(meant, count) => ParsedInput::Complete(meant, count + 1),
            other => other,
        },
        bytes => parse_plain(bytes),
    }
}

/// A letter or a control character.
fn parse_plain(bytes: &[u8]) -> ParsedInput {
    let Some(byte) = bytes.first().copied() else { return ParsedInput::Incomplete };
    if byte < 0x20 || byte == 0x7f {
        return ParsedInput::Complete(parse_control_byte(byte).map(TerminalInput::Key), 1);
    }
    let length = match byte {
        0x00..0x80 => 1,
        0xc2..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf5 => 4,
        _ => return ParsedInput::Complete(None, 1),
    };
    let Some(whole) = bytes.get(..length) else { return ParsedInput::Incomplete };
    match std::str::from_utf8(whole).ok().and_then(|text| text.chars().next()) {
        Some(letter) if letter.is_control() => ParsedInput::Complete(None, length),
        Some(letter) => {
            ParsedInput::Complete(Some(TerminalInput::Key(InputKey::Char(letter))), length)
        }
        None => ParsedInput::Complete(None, 1),
    }
}

/// Parameters, then a letter.
fn parse_control_sequence(bytes: &[u8]) -> ParsedInput {
    // Some terminals name function keys with a bracket and a letter.
    let skipped = usize::from(bytes.first() == Some(&b'['));
    let length = bytes.iter().skip(skipped).take_while(|byte| matches!(byte, 0x20..=0x3f)).count();
    let parameters = bytes.get(skipped..skipped + length).unwrap_or_default();
    let Some(last) = bytes.get(skipped + length).copied() else { return ParsedInput::Incomplete };
    let count = 2 + skipped + length + 1;
    match (last, parameters) {
        (b'~', b"200") => ParsedInput::PasteStart(count),
        // The key that ended it belongs to nobody.
        (0x40..=0x7e, _) => {
            ParsedInput::Complete(escape_sequence::decode_control_sequence(parameters, last), count)
        }
        _ => ParsedInput::Complete(None, count - 1),
    }
}

/// What the terminal says about itself, up to its end.
fn parse_terminal_reply(bytes: &[u8]) -> ParsedInput {
    for (at, byte) in bytes.iter().enumerate() {
        let text = bytes.get(..at).unwrap_or_default();
        match byte {
            0x07 => {
                return ParsedInput::Complete(
                    escape_sequence::decode_background_reply(text),
                    2 + at + 1,
                );
            }
            &ESCAPE if bytes.get(at + 1) == Some(&b'\\') => {
                return ParsedInput::Complete(
                    escape_sequence::decode_background_reply(text),
                    2 + at + 2,
                );
            }
            _ => {}
        }
    }
    ParsedInput::Incomplete
}

const ESCAPE: u8 = 0x1b;
/// The longest sequence that is waited for.
const SEQUENCE_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::CursorMove;

    fn parse_all(bytes: &[u8]) -> Vec<TerminalInput> {
        let mut parser = InputParser::default();
        let mut typed = parser.feed(bytes);
        typed.extend(parser.flush_pending());
        typed
    }

    fn key(key: InputKey) -> TerminalInput {
        TerminalInput::Key(key)
    }

    #[test]
    fn what_a_terminal_sends_means_what_it_means() {
        let cases: &[(&[u8], &[TerminalInput])] = &[
            (b"a\xc3\xa9\xe6\x97\xa5", &['a', 'é', '日'].map(|one| key(InputKey::Char(one)))),
            (b"\r", &[key(InputKey::Enter)]),
            (b"\n", &[key(InputKey::NewLine)]),
            (b"\x1b\r", &[key(InputKey::NewLine)]),
            (b"\x1b[13;2u", &[key(InputKey::NewLine)]),
            (b"\x1b[27;2;13~", &[key(InputKey::NewLine)]),
            (b"\x1b", &[key(InputKey::Escape)]),
            (b"\x1b\x1b", &[key(InputKey::Escape), key(InputKey::Escape)]),
            (b"\x1b\x1b[A", &[key(InputKey::Escape), key(InputKey::Move(CursorMove::Up))]),
            (
                b"\x1bOA\x1b[1;5D",
                &[key(InputKey::Move(CursorMove::Up)), key(InputKey::Move(CursorMove::WordLeft))],
            ),
            (
                b"\x1b[3~\x1b[5~\x1b[Z",
                &[key(InputKey::Delete), key(InputKey::PageUp), key(InputKey::BackTab)],
            ),
            (
                b"\x1bb\x1b\x7f",
                &[key(InputKey::Move(CursorMove::WordLeft)), key(InputKey::DeleteWord)],
            ),
            (b"\x1b[99;5u", &[key(InputKey::Cancel)]),
            (b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\", &[TerminalInput::Background { is_light: true }]),
            (
                b"\x1b]11;rgb:1e/1e/2e\x07x",
                &[TerminalInput::Background { is_light: false }, key(InputKey::Char('x'))],
            ),
            // Answers and reports nobody asked for leave no letters behind.
            (b"\x1b[?62;22c\x1b[I\x1b[<0;1;1M\x1b[[A", &[key(InputKey::Move(CursorMove::Up))]),
            (b"\xff\xc3(\x1b[1;", &[key(InputKey::Char('('))]),
            (
                b"\x1b[200~a\x1b[A\r\x1b[201~b",
                &[key(InputKey::Paste("a\u{1b}[A\r".to_owned())), key(InputKey::Char('b'))],
            ),
        ];
        for (bytes, meant) in cases {
            assert_eq!(parse_all(bytes), *meant, "{:?}", String::from_utf8_lossy(bytes));
            // The same, however it is cut.
            for at in 0..bytes.len() {
                let (one, other) = bytes.split_at(at);
                let mut parser = InputParser::default();
                let mut typed = parser.feed(one);
                typed.extend(parser.feed(other));
                typed.extend(parser.flush_pending());
                assert_eq!(typed, *meant, "{at}: {:?}", String::from_utf8_lossy(bytes));
            }
        }
    }

    #[test]
    fn ten_megabytes_are_pasted_in_one_piece() {
        let mut parser = InputParser::default();
        assert!(parser.feed(b"\x1b[200~").is_empty());
        let chunk = [b'x'; 4096];
        for _ in 0..2_560 {
            assert!(parser.feed(&chunk).is_empty());
        }
        let typed = parser.feed(b"\x1b[201~");
        assert!(
            matches!(&typed[..], [TerminalInput::Key(InputKey::Paste(text))] if text.len() == 2_560 * 4096),
            "{} keys",
            typed.len()
        );
    }
}
