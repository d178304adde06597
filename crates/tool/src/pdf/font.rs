//! From the codes a font is given to the characters it shows.

use std::collections::HashMap;

use encoding_rs::WINDOWS_1252;

use super::document::Document;
use super::glyph::letters_of;
use super::object::{Map, Object, Reader};

/// Characters one font may know.
const CHARACTERS_MAX: usize = 70_000;

/// A font, as far as text goes.
#[derive(Debug, Default)]
pub(super) struct Font {
    /// What the document itself says its codes mean.
    known: HashMap<u32, String>,
    /// Codes renamed by the font's encoding.
    named: HashMap<u32, String>,
    is_wide: bool,
}

impl Font {
    pub(super) fn new(document: &Document<'_>, map: &Map) -> Self {
        let mut font = Self {
            is_wide: map.get("Subtype").and_then(Object::name) == Some("Type0"),
            ..Self::default()
        };
        if let Some(table) = map.get("ToUnicode").and_then(|it| document.stream(it)) {
            font.read_table(&table);
        }
        let encoding = map.get("Encoding").map(|it| document.resolved(it).1);
        let differences =
            encoding.as_ref().and_then(Object::map).and_then(|it| it.get("Differences"));
        let differences = differences.map(|it| document.resolved(it).1);
        let mut code = 0_u32;
        for one in differences.as_ref().and_then(Object::list).unwrap_or_default() {
            match one {
                Object::Name(name) => {
                    if let Some(letters) = letters_of(name) {
                        font.named.insert(code, letters);
                    }
                    code = code.saturating_add(1);
                }
                other => {
                    code = other.index().and_then(|it| u32::try_from(it).ok()).unwrap_or(code);
                }
            }
        }
        font
    }

    /// The characters of a text shown in this font.
    pub(super) fn decoded(&self, text: &[u8]) -> String {
        if self.is_wide {
            let codes = text.chunks(2).map(number);
            return codes.filter_map(|code| self.known.get(&code)).cloned().collect();
        }
        let mut decoded = String::with_capacity(text.len());
        for byte in text {
            let code = u32::from(*byte);
            match self.known.get(&code).or_else(|| self.named.get(&code)) {
                Some(letters) => decoded.push_str(letters),
                None => decoded.push_str(&WINDOWS_1252.decode_without_bom_handling(&[*byte]).0),
            }
        }
        decoded
    }

    /// A table says "this code, these characters" or "these codes, from this character on".
    fn read_table(&mut self, table: &[u8]) {
        let mut reader = Reader::new(table, 0);
        let mut values: Vec<Object> = Vec::new();
        while let Some(value) = reader.next() {
            let Object::Operator(word) = &value else {
                values.push(value);
                continue;
            };
            match word.as_str() {
                "endbfchar" => {
                    for pair in values.chunks(2) {
                        if let [Object::Text(code), Object::Text(to)] = pair {
                            self.learn(number(code), wide_text(to));
                        }
                    }
                }
                "endbfrange" => values.chunks(3).for_each(|range| self.learn_range(range)),
                _ => {}
            }
            values.clear();
            if self.known.len() >= CHARACTERS_MAX {
                return;
            }
        }
    }

    fn learn(&mut self, code: u32, letters: String) {
        if self.known.len() < CHARACTERS_MAX {
            self.known.insert(code, letters);
        }
    }

    fn learn_range(&mut self, range: &[Object]) {
        let [Object::Text(first), Object::Text(last), to] = range else { return };
        let (first, last) = (number(first), number(last).min(number(first).saturating_add(0xFFFF)));
        match to {
            Object::Text(to) => {
                let start: Vec<char> = wide_text(to).chars().collect();
                let Some((letter, before)) = start.split_last() else { return };
                let before: String = before.iter().collect();
                for (step, code) in (0_u32..).zip(first..=last) {
                    if let Some(letter) = char::from_u32(u32::from(*letter) + step) {
                        self.learn(code, format!("{before}{letter}"));
                    }
                }
            }
            Object::List(list) => {
                for (code, to) in (first..=last).zip(list) {
                    if let Object::Text(to) = to {
                        self.learn(code, wide_text(to));
                    }
                }
            }
            _ => {}
        }
    }
}

fn number(code: &[u8]) -> u32 {
    code.iter().take(4).fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn wide_text(bytes: &[u8]) -> String {
    let units = bytes.chunks(2).map(|pair| u16::try_from(number(pair)).unwrap_or(0));
    char::decode_utf16(units).filter_map(Result::ok).filter(|letter| *letter != '\0').collect()
}
