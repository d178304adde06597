//! Parses PDF values. Parsing never fails: invalid input becomes null or is skipped.

use std::collections::BTreeMap;

const DEPTH_MAX: usize = 40;
/// Limit on the elements of one value; the rest is dropped.
const ELEMENTS_MAX: usize = 200_000;

/// A value, or an operator of a content stream.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PdfObject {
    Null,
    Number(f64),
    Name(String),
    Text(Vec<u8>),
    Array(Vec<PdfObject>),
    Dictionary(PdfDictionary),
    Reference(u32),
    Operator(String),
}

pub(super) type PdfDictionary = BTreeMap<String, PdfObject>;

impl PdfObject {
    pub(super) fn as_number(&self) -> Option<f64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    /// A non-negative number below 1e12, rounded.
    pub(super) fn as_index(&self) -> Option<usize> {
        let number = self.as_number().filter(|it| (0.0..1e12).contains(it))?;
        format!("{number:.0}").parse().ok()
    }

    pub(super) fn as_name(&self) -> Option<&str> {
        if let Self::Name(name) = self { Some(name) } else { None }
    }

    pub(super) fn as_array(&self) -> Option<&[Self]> {
        if let Self::Array(list) = self { Some(list) } else { None }
    }

    pub(super) fn as_dictionary(&self) -> Option<&PdfDictionary> {
        if let Self::Dictionary(map) = self { Some(map) } else { None }
    }
}

pub(super) struct PdfObjectReader<'a> {
    bytes: &'a [u8],
    pub(super) position: usize,
}

impl<'a> PdfObjectReader<'a> {
    pub(super) fn new(bytes: &'a [u8], position: usize) -> Self {
        Self { bytes, position }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.position).copied()
    }

    fn skip_space(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'%' => {
                    let rest = self.bytes.get(self.position..).unwrap_or_default();
                    let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
                    self.position += end.unwrap_or(rest.len());
                }
                byte if is_white_space(byte) => self.position += 1,
                _ => return,
            }
        }
    }

    pub(super) fn read_next(&mut self) -> Option<PdfObject> {
        self.read_value(0)
    }

    fn read_value(&mut self, depth: usize) -> Option<PdfObject> {
        self.skip_space();
        let byte = self.peek()?;
        if depth > DEPTH_MAX {
            self.position = self.bytes.len();
            return None;
        }
        Some(match byte {
            b'/' => {
                self.position += 1;
                PdfObject::Name(self.read_name())
            }
            b'(' => PdfObject::Text(self.read_literal_string()),
            b'<' if self.bytes.get(self.position + 1) == Some(&b'<') => {
                self.position += 2;
                self.read_dictionary(depth)
            }
            b'<' => PdfObject::Text(self.read_hex_string()),
            b'[' => {
                self.position += 1;
                self.read_array(depth)
            }
            b']' | b'>' | b'}' | b'{' | b')' => {
                self.position += 1;
                PdfObject::Operator(char::from(byte).to_string())
            }
            b'0'..=b'9' | b'+' | b'-' | b'.' => self.read_number_or_reference(),
            _ => {
                let word = self.read_word();
                if word == "null" { PdfObject::Null } else { PdfObject::Operator(word) }
            }
        })
    }

    fn read_word(&mut self) -> String {
        let from = self.position;
        while self.peek().is_some_and(|byte| !is_white_space(byte) && !is_delimiter(byte)) {
            self.position += 1;
        }
        if self.position == from {
            self.position += 1;
        }
        String::from_utf8_lossy(self.bytes.get(from..self.position).unwrap_or_default())
            .into_owned()
    }

    fn read_name(&mut self) -> String {
        let from = self.position;
        while self.peek().is_some_and(|byte| !is_white_space(byte) && !is_delimiter(byte)) {
            self.position += 1;
        }
        let raw = self.bytes.get(from..self.position).unwrap_or_default();
        let mut name = Vec::with_capacity(raw.len());
        let mut rest = raw;
        while let Some((first, after)) = rest.split_first() {
            let code = after.get(..2).filter(|_| *first == b'#').and_then(parse_hex_byte);
            match code {
                Some(byte) => {
                    name.push(byte);
                    rest = after.get(2..).unwrap_or_default();
                }
                None => {
                    name.push(*first);
                    rest = after;
                }
            }
        }
        String::from_utf8_lossy(&name).into_owned()
    }

    fn read_number_or_reference(&mut self) -> PdfObject {
        let number = self.read_number();
        // Two integers and an `R` are a reference.
        let here = self.position;
        if number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number) {
            self.skip_space();
            if self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                self.read_number();
                self.skip_space();
                let follows = self.bytes.get(self.position + 1).copied();
                if self.peek() == Some(b'R')
                    && follows.is_none_or(|byte| is_white_space(byte) || is_delimiter(byte))
                {
                    self.position += 1;
                    return match format!("{number:.0}").parse() {
                        Ok(id) => PdfObject::Reference(id),
                        Err(_) => PdfObject::Null,
                    };
                }
            }
        }
        self.position = here;
        PdfObject::Number(number)
    }

    fn read_number(&mut self) -> f64 {
        let from = self.position;
        while self.peek().is_some_and(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.')) {
            self.position += 1;
        }
        let text = self.bytes.get(from..self.position).unwrap_or_default();
        std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(0.0)
    }

    fn read_array(&mut self, depth: usize) -> PdfObject {
        let mut list = Vec::new();
        while let Some(value) = self.read_value(depth + 1) {
            if value == PdfObject::Operator("]".to_owned()) || list.len() >= ELEMENTS_MAX {
                break;
            }
            list.push(value);
        }
        PdfObject::Array(list)
    }

    fn read_dictionary(&mut self, depth: usize) -> PdfObject {
        let mut map = PdfDictionary::new();
        while let Some(key) = self.read_value(depth + 1) {
            match key {
                PdfObject::Name(key) => {
                    let Some(value) = self.read_value(depth + 1) else { break };
                    map.insert(key, value);
                }
                PdfObject::Operator(end) if end == ">" => {
                    if self.peek() == Some(b'>') {
                        self.position += 1;
                    }
                    break;
                }
                PdfObject::Null
                | PdfObject::Number(_)
                | PdfObject::Text(_)
                | PdfObject::Array(_)
                | PdfObject::Dictionary(_)
                | PdfObject::Reference(_)
                | PdfObject::Operator(_) => {}
            }
            if map.len() >= ELEMENTS_MAX {
                break;
            }
        }
        PdfObject::Dictionary(map)
    }

    fn read_literal_string(&mut self) -> Vec<u8> {
        self.position += 1;
        let mut text = Vec::new();
        let mut depth = 1;
        while let Some(byte) = self.peek() {
            self.position += 1;
            match byte {
                b'\\' => self.read_escape(&mut text),
                b'(' => {
                    depth += 1;
                    text.push(byte);
                }
                b')' => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                    text.push(byte);
                }
                byte => text.push(byte),
            }
        }
        text
    }

    fn read_escape(&mut self, text: &mut Vec<u8>) {
        let Some(byte) = self.peek() else { return };
        self.position += 1;
        match byte {
            b'n' => text.push(b'\n'),
            b'r' => text.push(b'\r'),
            b't' => text.push(b'\t'),
            b'b' | b'f' => text.push(b' '),
            b'\r' => {
                if self.peek() == Some(b'\n') {
                    self.position += 1;
                }
            }
            b'\n' => {}
            b'0'..=b'7' => {
                let mut code = u32::from(byte - b'0');
                for _ in 0..2 {
                    let Some(digit) = self.peek().filter(|byte| matches!(byte, b'0'..=b'7')) else {
                        break;
                    };
                    code = code * 8 + u32::from(digit - b'0');
                    self.position += 1;
                }
                text.push(u8::try_from(code & 0xFF).unwrap_or(0));
            }
            byte => text.push(byte),
        }
    }

    fn read_hex_string(&mut self) -> Vec<u8> {
        self.position += 1;
        let mut digits = Vec::new();
        while let Some(byte) = self.peek() {
            self.position += 1;
            match byte {
                b'>' => break,
                byte if byte.is_ascii_hexdigit() => digits.push(byte),
                _ => {}
            }
        }
        if digits.len() % 2 == 1 {
            digits.push(b'0');
        }
        digits.chunks(2).filter_map(parse_hex_byte).collect()
    }
}

fn parse_hex_byte(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn is_white_space(byte: u8) -> bool {
    matches!(byte, 0 | b'\t' | b'\n' | 12 | b'\r' | b' ')
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%')
}
