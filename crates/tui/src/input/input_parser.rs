//! Parses keys from bytes, however they are split. An unknown sequence is dropped as a whole, so
//! that none of its bytes is treated as a letter.

use super::bracketed_paste::BracketedPaste;
use super::escape_sequence;
use super::key::{InputKey, TerminalInput, parse_control_byte, with_alt};

#[derive(Debug, Default)]
pub struct InputParser {
    state: ParserState,
}

#[derive(Debug)]
enum ParserState {
    /// Bytes that are not a whole key yet.
    Keys(Vec<u8>),
    Paste(BracketedPaste),
}

impl Default for ParserState {
    fn default() -> Self {
        Self::Keys(Vec::new())
    }
}

/// What the pending bytes begin with.
enum ParsedInput {
    /// What was parsed, if it means anything, and how many bytes it took.
    Complete(Option<TerminalInput>, usize),
    /// A paste begins after this many bytes.
    PasteStart(usize),
    Incomplete,
}

impl InputParser {
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<TerminalInput> {
        let mut parsed = Vec::new();
        let pending = match &mut self.state {
            ParserState::Paste(paste) => {
                let Some((text, rest)) = paste.feed(bytes) else { return parsed };
                parsed.push(TerminalInput::Key(InputKey::Paste(text)));
                rest
            }
            ParserState::Keys(pending) => {
                pending.extend_from_slice(bytes);
                std::mem::take(pending)
            }
        };
        self.parse_keys(pending, &mut parsed, false);
        parsed
    }

    /// Is a sequence incomplete, so that more bytes may or may not follow?
    pub fn has_partial_sequence(&self) -> bool {
        matches!(&self.state, ParserState::Keys(pending) if !pending.is_empty())
    }

    /// Parses an incomplete sequence, because no more bytes followed in time.
    pub fn flush_pending(&mut self) -> Vec<TerminalInput> {
        let mut parsed = Vec::new();
        if let ParserState::Keys(pending) = &mut self.state {
            let pending = std::mem::take(pending);
            self.parse_keys(pending, &mut parsed, true);
        }
        parsed
    }

    fn parse_keys(
        &mut self,
        mut pending: Vec<u8>,
        parsed: &mut Vec<TerminalInput>,
        is_settled: bool,
    ) {
        let mut at = 0;
        while let Some(rest) = pending.get(at..).filter(|rest| !rest.is_empty()) {
            match parse_next(rest) {
                ParsedInput::Complete(input, count) => {
                    parsed.extend(input);
                    at += count;
                }
                ParsedInput::PasteStart(count) => {
                    self.state = ParserState::Paste(BracketedPaste::default());
                    parsed.extend(self.feed(rest.get(count..).unwrap_or_default()));
                    return;
                }
                ParsedInput::Incomplete if is_settled => {
                    // An escape alone is the key; an unfinished sequence is dropped.
                    let is_key = rest == [ESCAPE];
                    parsed.extend(is_key.then_some(TerminalInput::Key(InputKey::Escape)));
                    at = pending.len();
                }
                ParsedInput::Incomplete if rest.len() > SEQUENCE_MAX => at = pending.len(),
                ParsedInput::Incomplete => break,
            }
        }
        pending.drain(..at);
        self.state = ParserState::Keys(pending);
    }
}

fn parse_next(bytes: &[u8]) -> ParsedInput {
    match bytes {
        [ESCAPE] => ParsedInput::Incomplete,
        // Escape before another escape or a sequence is a separate key.
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
            ParsedInput::Complete(input, count) => ParsedInput::Complete(input, count + 1),
            ParsedInput::PasteStart(count) => ParsedInput::PasteStart(count),
            ParsedInput::Incomplete => ParsedInput::Incomplete,
        },
        bytes => parse_plain(bytes),
    }
}

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

/// Parameters, then a final letter.
fn parse_control_sequence(bytes: &[u8]) -> ParsedInput {
    // The Linux console sends function keys as `ESC [ [ letter`.
    let skipped = usize::from(bytes.first() == Some(&b'['));
    let length = bytes.iter().skip(skipped).take_while(|byte| matches!(byte, 0x20..=0x3f)).count();
    let parameters = bytes.get(skipped..skipped + length).unwrap_or_default();
    let Some(last) = bytes.get(skipped + length).copied() else { return ParsedInput::Incomplete };
    let count = 2 + skipped + length + 1;
    match (last, parameters) {
        (b'~', b"200") => ParsedInput::PasteStart(count),
        (0x40..=0x7e, _) => {
            ParsedInput::Complete(escape_sequence::decode_control_sequence(parameters, last), count)
        }
        // A byte that ends the sequence without being part of it is parsed on its own.
        _ => ParsedInput::Complete(None, count - 1),
    }
}

/// An answer of the terminal, up to BEL or `ESC \\`.
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
/// A longer sequence is dropped.
const SEQUENCE_MAX: usize = 256;
