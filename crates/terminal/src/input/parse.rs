//! From bytes to keys, however the bytes are cut. Nothing a terminal sends is lost or taken for
//! something else: what is not understood is left out whole.

use super::key::{Key, Typed, control, with_alt};
use super::paste::Paste;
use super::sequence;

/// Bytes that are not a key yet.
#[derive(Debug, Default)]
pub struct Parser {
    pending: Vec<u8>,
    paste: Option<Paste>,
}

/// What stands at the beginning of what is pending.
enum Found {
    /// Something, or nothing that means anything, and how many bytes it took.
    Whole(Option<Typed>, usize),
    /// A paste begins behind so many bytes.
    Paste(usize),
    /// More must come.
    Part,
}

impl Parser {
    /// Takes bytes in, and gives what they mean.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Typed> {
        let mut typed = Vec::new();
        if let Some(paste) = &mut self.paste {
            let Some((text, rest)) = paste.feed(bytes) else { return typed };
            self.paste = None;
            typed.push(Typed::Key(Key::Paste(text)));
            self.pending.extend_from_slice(&rest);
        } else {
            self.pending.extend_from_slice(bytes);
        }
        self.drain(&mut typed, false);
        typed
    }

    /// Does something wait for more bytes that may never come?
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// No more bytes came: what is pending means what it means alone.
    pub fn settle(&mut self) -> Vec<Typed> {
        let mut typed = Vec::new();
        self.drain(&mut typed, true);
        typed
    }

    fn drain(&mut self, typed: &mut Vec<Typed>, is_settled: bool) {
        let mut at = 0;
        while let Some(rest) = self.pending.get(at..).filter(|rest| !rest.is_empty()) {
            match first(rest) {
                Found::Whole(meant, count) => {
                    typed.extend(meant);
                    at += count;
                }
                Found::Paste(count) => {
                    let rest = rest.get(count..).unwrap_or_default().to_vec();
                    self.pending.clear();
                    self.paste = Some(Paste::default());
                    typed.extend(self.feed(&rest));
                    return;
                }
                Found::Part if is_settled => {
                    // An escape alone is the key; an unfinished sequence is nothing.
                    let is_key = rest == [ESCAPE];
                    typed.extend(is_key.then_some(Typed::Key(Key::Escape)));
                    at = self.pending.len();
                }
                Found::Part if rest.len() > SEQUENCE_MAX => at = self.pending.len(),
                Found::Part => break,
            }
        }
        self.pending.drain(..at);
    }
}

fn first(bytes: &[u8]) -> Found {
    match bytes {
        [ESCAPE] => Found::Part,
        // Escape twice, or before a sequence: the first is the key.
        [ESCAPE, ESCAPE, ..] => Found::Whole(Some(Typed::Key(Key::Escape)), 1),
        [ESCAPE, b'[', rest @ ..] => control_sequence(rest),
        [ESCAPE, b'O', rest @ ..] => match rest {
            [] => Found::Part,
            [last, ..] => Found::Whole(sequence::control_sequence(b"", *last), 3),
        },
        [ESCAPE, b']' | b'P' | b'_' | b'^' | b'X', rest @ ..] => answer(rest),
        [ESCAPE, rest @ ..] => match plain(rest) {
            Found::Whole(Some(Typed::Key(key)), count) => {
                Found::Whole(with_alt(&key).map(Typed::Key), count + 1)
            }
            Found::Whole(meant, count) => Found::Whole(meant, count + 1),
            other => other,
        },
        bytes => plain(bytes),
    }
}

/// A letter or a control character.
fn plain(bytes: &[u8]) -> Found {
    let Some(byte) = bytes.first().copied() else { return Found::Part };
    if byte < 0x20 || byte == 0x7f {
        return Found::Whole(control(byte).map(Typed::Key), 1);
    }
    let length = match byte {
        0x00..0x80 => 1,
        0xc2..0xe0 => 2,
        0xe0..0xf0 => 3,
        0xf0..0xf5 => 4,
        _ => return Found::Whole(None, 1),
    };
    let Some(whole) = bytes.get(..length) else { return Found::Part };
    match std::str::from_utf8(whole).ok().and_then(|text| text.chars().next()) {
        Some(letter) if letter.is_control() => Found::Whole(None, length),
        Some(letter) => Found::Whole(Some(Typed::Key(Key::Letter(letter))), length),
        None => Found::Whole(None, 1),
    }
}

/// Parameters, then a letter.
fn control_sequence(bytes: &[u8]) -> Found {
    // Some terminals name function keys with a bracket and a letter.
    let skipped = usize::from(bytes.first() == Some(&b'['));
    let length = bytes.iter().skip(skipped).take_while(|byte| matches!(byte, 0x20..=0x3f)).count();
    let parameters = bytes.get(skipped..skipped + length).unwrap_or_default();
    let Some(last) = bytes.get(skipped + length).copied() else { return Found::Part };
    let count = 2 + skipped + length + 1;
    match (last, parameters) {
        (b'~', b"200") => Found::Paste(count),
        // The key that ended it belongs to nobody.
        (0x40..=0x7e, _) => Found::Whole(sequence::control_sequence(parameters, last), count),
        _ => Found::Whole(None, count - 1),
    }
}

/// What the terminal says about itself, up to its end.
fn answer(bytes: &[u8]) -> Found {
    for (at, byte) in bytes.iter().enumerate() {
        let text = bytes.get(..at).unwrap_or_default();
        match byte {
            0x07 => return Found::Whole(sequence::answer(text), 2 + at + 1),
            &ESCAPE if bytes.get(at + 1) == Some(&b'\\') => {
                return Found::Whole(sequence::answer(text), 2 + at + 2);
            }
            _ => {}
        }
    }
    Found::Part
}

const ESCAPE: u8 = 0x1b;
/// The longest sequence that is waited for.
const SEQUENCE_MAX: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::composer::Move;

    fn keys(bytes: &[u8]) -> Vec<Typed> {
        let mut parser = Parser::default();
        let mut typed = parser.feed(bytes);
        typed.extend(parser.settle());
        typed
    }

    fn key(key: Key) -> Typed {
        Typed::Key(key)
    }

    #[test]
    fn what_a_terminal_sends_means_what_it_means() {
        let cases: &[(&[u8], &[Typed])] = &[
            (b"a\xc3\xa9\xe6\x97\xa5", &['a', 'é', '日'].map(|one| key(Key::Letter(one)))),
            (b"\r", &[key(Key::Enter)]),
            (b"\n", &[key(Key::NewLine)]),
            (b"\x1b\r", &[key(Key::NewLine)]),
            (b"\x1b[13;2u", &[key(Key::NewLine)]),
            (b"\x1b[27;2;13~", &[key(Key::NewLine)]),
            (b"\x1b", &[key(Key::Escape)]),
            (b"\x1b\x1b", &[key(Key::Escape), key(Key::Escape)]),
            (b"\x1b\x1b[A", &[key(Key::Escape), key(Key::Move(Move::Up))]),
            (b"\x1bOA\x1b[1;5D", &[key(Key::Move(Move::Up)), key(Key::Move(Move::WordLeft))]),
            (b"\x1b[3~\x1b[5~\x1b[Z", &[key(Key::Delete), key(Key::PageUp), key(Key::BackTab)]),
            (b"\x1bb\x1b\x7f", &[key(Key::Move(Move::WordLeft)), key(Key::DeleteWord)]),
            (b"\x1b[99;5u", &[key(Key::Cancel)]),
            (b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\", &[Typed::Ground { is_light: true }]),
            (
                b"\x1b]11;rgb:1e/1e/2e\x07x",
                &[Typed::Ground { is_light: false }, key(Key::Letter('x'))],
            ),
            // Answers and reports nobody asked for leave no letters behind.
            (b"\x1b[?62;22c\x1b[I\x1b[<0;1;1M\x1b[[A", &[key(Key::Move(Move::Up))]),
            (b"\xff\xc3(\x1b[1;", &[key(Key::Letter('('))]),
            (
                b"\x1b[200~a\x1b[A\r\x1b[201~b",
                &[key(Key::Paste("a\u{1b}[A\r".to_owned())), key(Key::Letter('b'))],
            ),
        ];
        for (bytes, meant) in cases {
            assert_eq!(keys(bytes), *meant, "{:?}", String::from_utf8_lossy(bytes));
            // The same, however it is cut.
            for at in 0..bytes.len() {
                let (one, other) = bytes.split_at(at);
                let mut parser = Parser::default();
                let mut typed = parser.feed(one);
                typed.extend(parser.feed(other));
                typed.extend(parser.settle());
                assert_eq!(typed, *meant, "{at}: {:?}", String::from_utf8_lossy(bytes));
            }
        }
    }

    #[test]
    fn ten_megabytes_are_pasted_in_one_piece() {
        let mut parser = Parser::default();
        assert!(parser.feed(b"\x1b[200~").is_empty());
        let chunk = [b'x'; 4096];
        for _ in 0..2_560 {
            assert!(parser.feed(&chunk).is_empty());
        }
        let typed = parser.feed(b"\x1b[201~");
        assert!(
            matches!(&typed[..], [Typed::Key(Key::Paste(text))] if text.len() == 2_560 * 4096),
            "{} keys",
            typed.len()
        );
    }
}
