//! Finds the strings in JSON with their positions, even if it is malformed or cut off.
//!
//! Not a parser: it never fails, keeps no values, and knows only enough of the grammar to
//! distinguish keys from values. Depth is limited; below that, paths are no longer distinguished.

use std::ops::Range;

use super::text_view::{EscapedRange, TextViewPart};

/// The tokens of JSON, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum JsonToken {
    Gap(Range<usize>),
    /// The key of an object.
    Key(JsonString),
    /// A string that is a value.
    Value(JsonString),
    /// A number that identifies a stream, with the path of its object.
    Mark {
        parent: String,
        mark: String,
    },
    /// A value at the top level, or in the outermost list, is complete.
    EventEnd,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JsonString {
    pub(super) text: Vec<u8>,
    pub(super) part: TextViewPart,
    /// Its path as a JSON pointer.
    pub(super) path: String,
}

impl JsonString {
    /// The mark in this string, if it is one, with the path of its object.
    pub(super) fn stream_mark(&self) -> Option<(String, String)> {
        let (parent, key) = self.path.rsplit_once('/')?;
        let is_mark = matches!(key, "type" | "item_id");
        let value = String::from_utf8_lossy(&self.text);
        is_mark.then(|| (format!("{parent}/"), format!(" {key}={value}")))
    }
}

/// Tokenizes a range of a body.
pub(super) struct JsonTokenizer<'a> {
    body: &'a [u8],
    at: usize,
    end: usize,
    levels: Vec<JsonLevel>,
    /// Returned after the gap before it.
    pending: Option<JsonToken>,
}

struct UnescapedString {
    text: Vec<u8>,
    escapes: Vec<EscapedRange>,
    /// The offset of the closing quote, or where it is missing.
    end: usize,
}

enum JsonLevel {
    Object { key: String, wants_key: bool },
    List { index: usize },
}

impl<'a> JsonTokenizer<'a> {
    pub(super) fn new(body: &'a [u8], raw: Range<usize>) -> Self {
        let Range { start: at, end } = raw;
        Self { body, at, end, levels: Vec::new(), pending: None }
    }

    fn byte_at(&self, at: usize) -> Option<u8> {
        (at < self.end).then(|| self.body.get(at).copied()).flatten()
    }

    /// Scans up to the next token.
    fn scan_token(&mut self) -> Option<JsonToken> {
        while let Some(byte) = self.byte_at(self.at) {
            match byte {
                b'"' => return Some(self.read_string()),
                b'0'..=b'9' if self.current_key().is_some_and(|key| key.ends_with("index")) => {
                    return Some(self.read_index());
                }
                b'{' => self.open_level(JsonLevel::Object { key: String::new(), wants_key: true }),
                b'[' => self.open_level(JsonLevel::List { index: 0 }),
                b'}' | b']' => {
                    self.at += 1;
                    self.levels.pop();
                    if matches!(self.levels.as_slice(), [] | [JsonLevel::List { .. }]) {
                        return Some(JsonToken::EventEnd);
                    }
                }
                b':' => self.pass_separator(false),
                b',' => self.pass_separator(true),
                _ => self.at += 1,
            }
        }
        None
    }

    fn open_level(&mut self, level: JsonLevel) {
        self.at += 1;
        if self.levels.len() < DEPTH_MAX {
            self.levels.push(level);
        }
    }

    fn pass_separator(&mut self, is_comma: bool) {
        self.at += 1;
        match self.levels.last_mut() {
            Some(JsonLevel::Object { wants_key, .. }) => *wants_key = is_comma,
            Some(JsonLevel::List { index }) => *index += usize::from(is_comma),
            None => {}
        }
    }

    fn current_key(&self) -> Option<&str> {
        match self.levels.last() {
            Some(JsonLevel::Object { key, wants_key: false }) => Some(key),
            Some(JsonLevel::Object { wants_key: true, .. } | JsonLevel::List { .. }) | None => None,
        }
    }

    fn read_index(&mut self) -> JsonToken {
        let from = self.at;
        while self.byte_at(self.at).is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        let digits = String::from_utf8_lossy(self.body.get(from..self.at).unwrap_or_default());
        let mark = format!(" {}={digits}", self.current_key().unwrap_or_default());
        JsonToken::Mark { parent: self.json_pointer(self.levels.len().saturating_sub(1)), mark }
    }

    fn read_string(&mut self) -> JsonToken {
        let raw = self.at + 1;
        let UnescapedString { text, escapes, end } = self.read_unescaped(raw);
        self.at = end + 1;
        let part = TextViewPart { start: 0, raw, escapes };
        if let Some(JsonLevel::Object { key, wants_key: true }) = self.levels.last_mut() {
            let begin = text.get(..KEY_MAX).unwrap_or(&text);
            *key = String::from_utf8_lossy(begin).into_owned();
            return JsonToken::Key(JsonString { text, part, path: String::new() });
        }
        let path = self.json_pointer(self.levels.len());
        JsonToken::Value(JsonString { text, part, path })
    }

    fn read_unescaped(&self, from: usize) -> UnescapedString {
        let mut text = Vec::new();
        let mut escapes = Vec::new();
        let mut at = from;
        while let Some(byte) = self.byte_at(at) {
            if byte == b'"' {
                break;
            }
            let rest = self.body.get(at..self.end).unwrap_or_default();
            let Some((char, raw_len)) = decode_escape(rest) else {
                text.push(byte);
                at += 1;
                continue;
            };
            let mut bytes = [0; 4];
            let bytes = char.encode_utf8(&mut bytes).as_bytes();
            escapes.push(EscapedRange { start: text.len(), len: bytes.len(), raw: at, raw_len });
            text.extend_from_slice(bytes);
            at += raw_len;
        }
        UnescapedString { text, escapes, end: at }
    }

    /// The path of the first levels as a JSON pointer.
    fn json_pointer(&self, levels: usize) -> String {
        let mut path = String::new();
        for (depth, level) in self.levels.iter().take(levels).enumerate() {
            match level {
                // The elements of an outermost list are the events of a stream.
                JsonLevel::List { .. } if depth == 0 => {}
                JsonLevel::List { index } => path.push_str(&format!("/{index}")),
                JsonLevel::Object { key, .. } => {
                    path.push('/');
                    path.push_str(key);
                }
            }
        }
        path
    }
}

impl Iterator for JsonTokenizer<'_> {
    type Item = JsonToken;

    fn next(&mut self) -> Option<JsonToken> {
        if let Some(token) = self.pending.take() {
            return Some(token);
        }
        let from = self.at;
        let token = self.scan_token();
        let upto = match &token {
            Some(JsonToken::Key(string) | JsonToken::Value(string)) => string.part.raw - 1,
            Some(JsonToken::Gap(_) | JsonToken::Mark { .. } | JsonToken::EventEnd) | None => {
                self.at
            }
        };
        if upto > from {
            self.pending = token;
            return Some(JsonToken::Gap(from..upto));
        }
        token
    }
}

/// The character of an escape sequence at the beginning, and the length of the sequence.
pub(super) fn decode_escape(bytes: &[u8]) -> Option<(char, usize)> {
    let [b'\\', letter, rest @ ..] = bytes else { return None };
    let char = match letter {
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'"' | b'\\' | b'/' => char::from(*letter),
        b'u' => return decode_unicode_escape(rest),
        _ => return None,
    };
    Some((char, 2))
}

fn decode_unicode_escape(rest: &[u8]) -> Option<(char, usize)> {
    let first = parse_four_hex_digits(rest)?;
    if let Some(char) = char::from_u32(first) {
        return Some((char, 6));
    }
    let second = parse_four_hex_digits(rest.get(4..)?.strip_prefix(b"\\u")?)?;
    let is_pair = (0xD800..0xDC00).contains(&first) && (0xDC00..0xE000).contains(&second);
    let code = is_pair.then(|| 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))?;
    Some((char::from_u32(code)?, 12))
}

fn parse_four_hex_digits(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.get(..4)?;
    digits.iter().try_fold(0, |code, digit| Some(code * 16 + char::from(*digit).to_digit(16)?))
}

/// Only this much of a key is compared.
const KEY_MAX: usize = 64;
/// Deeper than any wire nests.
const DEPTH_MAX: usize = 128;
