//! Maps the character codes of a font to text.

use std::collections::HashMap;

use encoding_rs::WINDOWS_1252;

use crate::document::PdfDocument;
use crate::glyph::glyph_to_text;
use crate::object::{PdfDictionary, PdfObject, PdfObjectReader};

const CHARACTERS_MAX: usize = 70_000;

#[derive(Debug, Default)]
pub(super) struct PdfFont {
    /// From the document's `ToUnicode` map.
    to_unicode: HashMap<u32, String>,
    encoding_differences: HashMap<u32, String>,
    is_two_byte: bool,
}

impl PdfFont {
    pub(super) fn new(document: &PdfDocument<'_>, map: &PdfDictionary) -> Self {
        let mut font = Self {
            is_two_byte: map.get("Subtype").and_then(PdfObject::as_name) == Some("Type0"),
            ..Self::default()
        };
        if let Some(table) = map.get("ToUnicode").and_then(|it| document.read_stream(it)) {
            font.read_to_unicode_table(&table);
        }
        let encoding = map.get("Encoding").map(|it| document.resolve(it).1);
        let differences = encoding
            .as_ref()
            .and_then(PdfObject::as_dictionary)
            .and_then(|it| it.get("Differences"));
        let differences = differences.map(|it| document.resolve(it).1);
        let mut code = 0_u32;
        for one in differences.as_ref().and_then(PdfObject::as_array).unwrap_or_default() {
            if let PdfObject::Name(name) = one {
                if let Some(letters) = glyph_to_text(name) {
                    font.encoding_differences.insert(code, letters);
                }
                code = code.saturating_add(1);
            } else {
                code = one.as_index().and_then(|it| u32::try_from(it).ok()).unwrap_or(code);
            }
        }
        font
    }

    /// Decodes a string shown in this font.
    pub(super) fn decode(&self, text: &[u8]) -> String {
        if self.is_two_byte {
            let codes = text.chunks(2).map(code_to_number);
            return codes.filter_map(|code| self.to_unicode.get(&code)).cloned().collect();
        }
        let mut decoded = String::with_capacity(text.len());
        for byte in text {
            let code = u32::from(*byte);
            match self.to_unicode.get(&code).or_else(|| self.encoding_differences.get(&code)) {
                Some(letters) => decoded.push_str(letters),
                None => decoded.push_str(&WINDOWS_1252.decode_without_bom_handling(&[*byte]).0),
            }
        }
        decoded
    }

    /// Reads `bfchar` entries (a code and its text) and `bfrange` entries (a range of codes and
    /// their text).
    fn read_to_unicode_table(&mut self, table: &[u8]) {
        let mut reader = PdfObjectReader::new(table, 0);
        let mut values: Vec<PdfObject> = Vec::new();
        while let Some(value) = reader.read_next() {
            let PdfObject::Operator(word) = &value else {
                values.push(value);
                continue;
            };
            match word.as_str() {
                "endbfchar" => {
                    for pair in values.chunks(2) {
                        if let [PdfObject::Text(code), PdfObject::Text(to)] = pair {
                            self.insert_mapping(code_to_number(code), decode_utf16_be(to));
                        }
                    }
                }
                "endbfrange" => values.chunks(3).for_each(|range| self.insert_range(range)),
                _ => {}
            }
            values.clear();
            if self.to_unicode.len() >= CHARACTERS_MAX {
                return;
            }
        }
    }

    fn insert_mapping(&mut self, code: u32, letters: String) {
        if self.to_unicode.len() < CHARACTERS_MAX {
            self.to_unicode.insert(code, letters);
        }
    }

    fn insert_range(&mut self, range: &[PdfObject]) {
        let [PdfObject::Text(first), PdfObject::Text(last), to] = range else { return };
        let first = code_to_number(first);
        let last = code_to_number(last).min(first.saturating_add(0xFFFF));
        match to {
            PdfObject::Text(to) => {
                let start: Vec<char> = decode_utf16_be(to).chars().collect();
                let Some((letter, before)) = start.split_last() else { return };
                let before: String = before.iter().collect();
                for (step, code) in (0_u32..).zip(first..=last) {
                    if let Some(letter) = char::from_u32(u32::from(*letter) + step) {
                        self.insert_mapping(code, format!("{before}{letter}"));
                    }
                }
            }
            PdfObject::Array(list) => {
                for (code, to) in (first..=last).zip(list) {
                    if let PdfObject::Text(to) = to {
                        self.insert_mapping(code, decode_utf16_be(to));
                    }
                }
            }
            PdfObject::Null
            | PdfObject::Number(_)
            | PdfObject::Name(_)
            | PdfObject::Dictionary(_)
            | PdfObject::Reference(_)
            | PdfObject::Operator(_) => {}
        }
    }
}

fn code_to_number(code: &[u8]) -> u32 {
    code.iter().take(4).fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn decode_utf16_be(bytes: &[u8]) -> String {
    let units = bytes.chunks(2).map(|pair| u16::try_from(code_to_number(pair)).unwrap_or(0));
    char::decode_utf16(units).filter_map(Result::ok).filter(|letter| *letter != '\0').collect()
}
