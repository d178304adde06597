//! Values as PDF writes them. Reading never fails: what makes no sense is null.

use std::collections::BTreeMap;

/// Deeper values are cut off.
const DEPTH_MAX: usize = 40;
/// Elements of one value; the rest is left out.
const ELEMENTS_MAX: usize = 200_000;

/// A value, or an operator between values.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Object {
    Null,
    Number(f64),
    Name(String),
    Text(Vec<u8>),
    List(Vec<Object>),
    Map(Map),
    /// Another object, by its number.
    Reference(u32),
    Operator(String),
}

pub(super) type Map = BTreeMap<String, Object>;

impl Object {
    pub(super) fn number(&self) -> Option<f64> {
        if let Self::Number(number) = self { Some(*number) } else { None }
    }

    /// A whole number within what an index can be.
    pub(super) fn index(&self) -> Option<usize> {
        let number = self.number().filter(|it| (0.0..1e12).contains(it))?;
        format!("{number:.0}").parse().ok()
    }

    pub(super) fn name(&self) -> Option<&str> {
        if let Self::Name(name) = self { Some(name) } else { None }
    }

    pub(super) fn list(&self) -> Option<&[Self]> {
        if let Self::List(list) = self { Some(list) } else { None }
    }

    pub(super) fn map(&self) -> Option<&Map> {
        if let Self::Map(map) = self { Some(map) } else { None }
    }
}

/// Reads one value after the other.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    pub(super) at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(byte) = self.peek() {
            match byte {
                b'%' => {
                    let rest = self.bytes.get(self.at..).unwrap_or_default();
                    let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
                    self.at += end.unwrap_or(rest.len());
                }
                byte if is_space(byte) => self.at += 1,
                _ => return,
            }
        }
    }

    /// The next value, `None` at the end.
    pub(super) fn next(&mut self) -> Option<Object> {
        self.value(0)
    }

    fn value(&mut self, depth: usize) -> Option<Object> {
        self.skip_space();
        let byte = self.peek()?;
        if depth > DEPTH_MAX {
            self.at = self.bytes.len();
            return None;
        }
        Some(match byte {
            b'/' => {
                self.at += 1;
                Object::Name(self.name())
            }
            b'(' => Object::Text(self.text()),
            b'<' if self.bytes.get(self.at + 1) == Some(&b'<') => {
                self.at += 2;
                self.map(depth)
            }
            b'<' => Object::Text(self.hexadecimal()),
            b'[' => {
                self.at += 1;
                self.list(depth)
            }
            b']' | b'>' | b'}' | b'{' | b')' => {
                self.at += 1;
                Object::Operator(char::from(byte).to_string())
            }
            b'0'..=b'9' | b'+' | b'-' | b'.' => self.number_or_reference(),
            _ => {
                let word = self.word();
                if word == "null" { Object::Null } else { Object::Operator(word) }
            }
        })
    }

    fn word(&mut self) -> String {
        let from = self.at;
        while self.peek().is_some_and(|byte| !is_space(byte) && !is_delimiter(byte)) {
            self.at += 1;
        }
        if self.at == from {
            self.at += 1;
        }
        String::from_utf8_lossy(self.bytes.get(from..self.at).unwrap_or_default()).into_owned()
    }

    fn name(&mut self) -> String {
        let from = self.at;
        while self.peek().is_some_and(|byte| !is_space(byte) && !is_delimiter(byte)) {
            self.at += 1;
        }
        let raw = self.bytes.get(from..self.at).unwrap_or_default();
        let mut name = Vec::with_capacity(raw.len());
        let mut rest = raw;
        while let Some((first, after)) = rest.split_first() {
            let code = after.get(..2).filter(|_| *first == b'#').and_then(hexadecimal_byte);
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

    fn number_or_reference(&mut self) -> Object {
        let number = self.plain_number();
        // Two whole numbers and an R are a reference.
        let here = self.at;
        if number.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&number) {
            self.skip_space();
            if self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                self.plain_number();
                self.skip_space();
                let follows = self.bytes.get(self.at + 1).copied();
                if self.peek() == Some(b'R')
                    && follows.is_none_or(|byte| is_space(byte) || is_delimiter(byte))
                {
                    self.at += 1;
                    return match format!("{number:.0}").parse() {
                        Ok(id) => Object::Reference(id),
                        Err(_) => Object::Null,
                    };
                }
            }
        }
        self.at = here;
        Object::Number(number)
    }

    fn plain_number(&mut self) -> f64 {
        let from = self.at;
        while self.peek().is_some_and(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.')) {
            self.at += 1;
        }
        let text = self.bytes.get(from..self.at).unwrap_or_default();
        std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(0.0)
    }

    fn list(&mut self, depth: usize) -> Object {
        let mut list = Vec::new();
        while let Some(value) = self.value(depth + 1) {
            if value == Object::Operator("]".to_owned()) || list.len() >= ELEMENTS_MAX {
                break;
            }
            list.push(value);
        }
        Object::List(list)
    }

    fn map(&mut self, depth: usize) -> Object {
        let mut map = Map::new();
        while let Some(key) = self.value(depth + 1) {
            match key {
                Object::Name(key) => {
                    let Some(value) = self.value(depth + 1) else { break };
                    map.insert(key, value);
                }
                Object::Operator(end) if end == ">" => {
                    if self.peek() == Some(b'>') {
                        self.at += 1;
                    }
                    break;
                }
                _ => {}
            }
            if map.len() >= ELEMENTS_MAX {
                break;
            }
        }
        Object::Map(map)
    }

    fn text(&mut self) -> Vec<u8> {
        self.at += 1;
        let mut text = Vec::new();
        let mut depth = 1;
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'\\' => self.escape(&mut text),
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

    fn escape(&mut self, text: &mut Vec<u8>) {
        let Some(byte) = self.peek() else { return };
        self.at += 1;
        match byte {
            b'n' => text.push(b'\n'),
            b'r' => text.push(b'\r'),
            b't' => text.push(b'\t'),
            b'b' | b'f' => text.push(b' '),
            b'\r' => {
                if self.peek() == Some(b'\n') {
                    self.at += 1;
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
                    self.at += 1;
                }
                text.push(u8::try_from(code & 0xFF).unwrap_or(0));
            }
            byte => text.push(byte),
        }
    }

    fn hexadecimal(&mut self) -> Vec<u8> {
        self.at += 1;
        let mut digits = Vec::new();
        while let Some(byte) = self.peek() {
            self.at += 1;
            match byte {
                b'>' => break,
                byte if byte.is_ascii_hexdigit() => digits.push(byte),
                _ => {}
            }
        }
        if digits.len() % 2 == 1 {
            digits.push(b'0');
        }
        digits.chunks(2).filter_map(hexadecimal_byte).collect()
    }
}

fn hexadecimal_byte(digits: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn is_space(byte: u8) -> bool {
    matches!(byte, 0 | b'\t' | b'\n' | 12 | b'\r' | b' ')
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%')
}
