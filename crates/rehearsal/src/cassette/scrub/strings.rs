//! Finds the strings of JSON and where they stand, in JSON that may be broken or cut off.
//!
//! Not a parser: it never refuses, it keeps no values, and it knows no more of the grammar than is
//! needed to tell a key from a value. Depth is bounded; deeper down places are no longer told apart.

use std::ops::Range;

use super::view::{Escape, Part};

/// What stands in JSON, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// Everything between strings.
    Gap(Range<usize>),
    /// The key of an object.
    Key(Text),
    /// A string that is a value.
    Value(Text),
    /// A number that tells streams apart, and the place of its object.
    Mark { parent: String, mark: String },
    /// A value that stands alone, or in the outermost list, is complete.
    EventEnd,
}

/// A string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) text: Vec<u8>,
    pub(super) part: Part,
    /// Its place, as a JSON pointer.
    pub(super) path: String,
}

impl Text {
    /// The mark this string is, if it is one, with the place of its object.
    pub(super) fn mark(&self) -> Option<(String, String)> {
        let (parent, key) = self.path.rsplit_once('/')?;
        let is_mark = matches!(key, "type" | "item_id");
        let value = String::from_utf8_lossy(&self.text);
        is_mark.then(|| (format!("{parent}/"), format!(" {key}={value}")))
    }
}

/// Walks over a range of a body.
pub(super) struct Strings<'a> {
    body: &'a [u8],
    at: usize,
    end: usize,
    levels: Vec<Level>,
    /// Waits to be given out after a gap.
    waiting: Option<Token>,
}

enum Level {
    Object { key: String, wants_key: bool },
    List { index: usize },
}

impl<'a> Strings<'a> {
    pub(super) fn new(body: &'a [u8], raw: Range<usize>) -> Self {
        let Range { start: at, end } = raw;
        Self { body, at, end, levels: Vec::new(), waiting: None }
    }

    fn byte(&self, at: usize) -> Option<u8> {
        (at < self.end).then(|| self.body.get(at).copied()).flatten()
    }

    /// Takes in everything up to the next thing worth telling.
    fn find(&mut self) -> Option<Token> {
        while let Some(byte) = self.byte(self.at) {
            match byte {
                b'"' => return Some(self.string()),
                b'0'..=b'9' if self.key().is_some_and(|key| key.ends_with("index")) => {
                    return Some(self.number());
                }
                b'{' => self.open(Level::Object { key: String::new(), wants_key: true }),
                b'[' => self.open(Level::List { index: 0 }),
                b'}' | b']' => {
                    self.at += 1;
                    self.levels.pop();
                    if matches!(self.levels.as_slice(), [] | [Level::List { .. }]) {
                        return Some(Token::EventEnd);
                    }
                }
                b':' => self.passed(false),
                b',' => self.passed(true),
                _ => self.at += 1,
            }
        }
        None
    }

    fn open(&mut self, level: Level) {
        self.at += 1;
        if self.levels.len() < DEPTH_MAX {
            self.levels.push(level);
        }
    }

    fn passed(&mut self, is_comma: bool) {
        self.at += 1;
        match self.levels.last_mut() {
            Some(Level::Object { wants_key, .. }) => *wants_key = is_comma,
            Some(Level::List { index }) if is_comma => *index += 1,
            _ => {}
        }
    }

    fn key(&self) -> Option<&str> {
        match self.levels.last() {
            Some(Level::Object { key, wants_key: false }) => Some(key),
            _ => None,
        }
    }

    fn number(&mut self) -> Token {
        let from = self.at;
        while self.byte(self.at).is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        let digits = String::from_utf8_lossy(self.body.get(from..self.at).unwrap_or_default());
        let mark = format!(" {}={digits}", self.key().unwrap_or_default());
        Token::Mark { parent: self.path(self.levels.len().saturating_sub(1)), mark }
    }

    fn string(&mut self) -> Token {
        let raw = self.at + 1;
        let (text, escapes, end) = self.unescaped(raw);
        self.at = end + 1;
        let part = Part { start: 0, raw, escapes };
        if let Some(Level::Object { key, wants_key: true }) = self.levels.last_mut() {
            let begin = text.get(..KEY_MAX).unwrap_or(&text);
            *key = String::from_utf8_lossy(begin).into_owned();
            return Token::Key(Text { text, part, path: String::new() });
        }
        let path = self.path(self.levels.len());
        Token::Value(Text { text, part, path })
    }

    /// The text of a string, its escapes, and where its closing quote is or should be.
    fn unescaped(&self, from: usize) -> (Vec<u8>, Vec<Escape>, usize) {
        let mut text = Vec::new();
        let mut escapes = Vec::new();
        let mut at = from;
        while let Some(byte) = self.byte(at) {
            if byte == b'"' {
                break;
            }
            let rest = self.body.get(at..self.end).unwrap_or_default();
            let Some((char, raw_len)) = escape(rest) else {
                text.push(byte);
                at += 1;
                continue;
            };
            let mut bytes = [0; 4];
            let bytes = char.encode_utf8(&mut bytes).as_bytes();
            escapes.push(Escape { start: text.len(), len: bytes.len(), raw: at, raw_len });
            text.extend_from_slice(bytes);
            at += raw_len;
        }
        (text, escapes, at)
    }

    /// The place inside the first levels, as a JSON pointer.
    fn path(&self, levels: usize) -> String {
        let mut path = String::new();
        for (depth, level) in self.levels.iter().take(levels).enumerate() {
            match level {
                // The members of an outermost list are the events of a stream.
                Level::List { .. } if depth == 0 => {}
                Level::List { index } => path.push_str(&format!("/{index}")),
                Level::Object { key, .. } => {
                    path.push('/');
                    path.push_str(key);
                }
            }
        }
        path
    }
}

impl Iterator for Strings<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        if let Some(token) = self.waiting.take() {
            return Some(token);
        }
        let from = self.at;
        let found = self.find();
        let upto = match &found {
            Some(Token::Key(string) | Token::Value(string)) => string.part.raw - 1,
            _ => self.at,
        };
        if upto > from {
            self.waiting = found;
            return Some(Token::Gap(from..upto));
        }
        found
    }
}

/// The character an escape at the beginning of some bytes stands for, and how long the escape is.
pub(super) fn escape(bytes: &[u8]) -> Option<(char, usize)> {
    let [b'\\', letter, rest @ ..] = bytes else { return None };
    let char = match letter {
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'"' | b'\\' | b'/' => char::from(*letter),
        b'u' => return unicode(rest),
        _ => return None,
    };
    Some((char, 2))
}

fn unicode(rest: &[u8]) -> Option<(char, usize)> {
    let first = four_digits(rest)?;
    if let Some(char) = char::from_u32(first) {
        return Some((char, 6));
    }
    let second = four_digits(rest.get(4..)?.strip_prefix(b"\\u")?)?;
    let is_pair = (0xD800..0xDC00).contains(&first) && (0xDC00..0xE000).contains(&second);
    let code = is_pair.then(|| 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))?;
    Some((char::from_u32(code)?, 12))
}

fn four_digits(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.get(..4)?;
    digits.iter().try_fold(0, |code, digit| Some(code * 16 + char::from(*digit).to_digit(16)?))
}

/// Keys are told apart by their beginnings.
const KEY_MAX: usize = 64;
/// Deeper than any wire goes.
const DEPTH_MAX: usize = 128;
