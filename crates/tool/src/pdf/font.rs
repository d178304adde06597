//! From the codes a font is given to the characters it shows.

use std::collections::HashMap;

use encoding_rs::WINDOWS_1252;

use super::document::Document;
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

/// The characters a glyph's name stands for.
fn letters_of(name: &str) -> Option<String> {
    let stem = name.split('.').next().unwrap_or(name);
    let mut letters = stem.chars();
    if let (Some(letter), None) = (letters.next(), letters.next()) {
        return Some(letter.to_string());
    }
    let code = stem.strip_prefix("uni").or_else(|| stem.strip_prefix('u'));
    let code = code.filter(|code| (4..=6).contains(&code.len()));
    if let Some(letter) =
        code.and_then(|code| u32::from_str_radix(code, 16).ok()).and_then(char::from_u32)
    {
        return Some(letter.to_string());
    }
    if let Some((_, letters)) = GLYPHS.iter().find(|(known, _)| *known == stem) {
        return Some((*letters).to_owned());
    }
    accented(stem)
}

/// A letter and what stands on it, put together.
fn accented(name: &str) -> Option<String> {
    let letter = name.chars().next().filter(char::is_ascii_alphabetic)?;
    let mark = match name.get(1..)? {
        "acute" => '\u{301}',
        "grave" => '\u{300}',
        "circumflex" => '\u{302}',
        "dieresis" => '\u{308}',
        "tilde" => '\u{303}',
        "ring" => '\u{30a}',
        "caron" => '\u{30c}',
        "cedilla" => '\u{327}',
        _ => return None,
    };
    let plain = COMPOSED.iter().find(|(from, with, _)| *from == letter && *with == mark);
    Some(plain.map_or_else(|| format!("{letter}{mark}"), |(_, _, whole)| whole.to_string()))
}

const COMPOSED: &[(char, char, char)] = &[
    ('a', '\u{308}', 'ä'),
    ('o', '\u{308}', 'ö'),
    ('u', '\u{308}', 'ü'),
    ('A', '\u{308}', 'Ä'),
    ('O', '\u{308}', 'Ö'),
    ('U', '\u{308}', 'Ü'),
    ('e', '\u{301}', 'é'),
    ('e', '\u{300}', 'è'),
    ('a', '\u{301}', 'á'),
    ('a', '\u{300}', 'à'),
    ('c', '\u{327}', 'ç'),
    ('n', '\u{303}', 'ñ'),
    ('o', '\u{301}', 'ó'),
    ('i', '\u{301}', 'í'),
    ('u', '\u{301}', 'ú'),
    ('e', '\u{302}', 'ê'),
    ('a', '\u{302}', 'â'),
    ('o', '\u{302}', 'ô'),
    ('a', '\u{30a}', 'å'),
    ('s', '\u{30c}', 'š'),
];

const GLYPHS: &[(&str, &str)] = &[
    ("space", " "),
    ("nbspace", " "),
    ("exclam", "!"),
    ("quotedbl", "\""),
    ("numbersign", "#"),
    ("dollar", "$"),
    ("percent", "%"),
    ("ampersand", "&"),
    ("quotesingle", "'"),
    ("quoteright", "’"),
    ("quoteleft", "‘"),
    ("parenleft", "("),
    ("parenright", ")"),
    ("asterisk", "*"),
    ("plus", "+"),
    ("comma", ","),
    ("hyphen", "-"),
    ("minus", "−"),
    ("period", "."),
    ("slash", "/"),
    ("zero", "0"),
    ("one", "1"),
    ("two", "2"),
    ("three", "3"),
    ("four", "4"),
    ("five", "5"),
    ("six", "6"),
    ("seven", "7"),
    ("eight", "8"),
    ("nine", "9"),
    ("colon", ":"),
    ("semicolon", ";"),
    ("less", "<"),
    ("equal", "="),
    ("greater", ">"),
    ("question", "?"),
    ("at", "@"),
    ("bracketleft", "["),
    ("backslash", "\\"),
    ("bracketright", "]"),
    ("asciicircum", "^"),
    ("underscore", "_"),
    ("grave", "`"),
    ("braceleft", "{"),
    ("bar", "|"),
    ("braceright", "}"),
    ("asciitilde", "~"),
    ("quotedblleft", "“"),
    ("quotedblright", "”"),
    ("quotedblbase", "„"),
    ("quotesinglbase", "‚"),
    ("endash", "–"),
    ("emdash", "—"),
    ("bullet", "•"),
    ("ellipsis", "…"),
    ("dagger", "†"),
    ("section", "§"),
    ("copyright", "©"),
    ("registered", "®"),
    ("trademark", "™"),
    ("degree", "°"),
    ("fi", "fi"),
    ("fl", "fl"),
    ("ff", "ff"),
    ("ffi", "ffi"),
    ("ffl", "ffl"),
    ("germandbls", "ß"),
    ("multiply", "×"),
    ("divide", "÷"),
    ("plusminus", "±"),
    ("lessequal", "≤"),
    ("greaterequal", "≥"),
    ("notequal", "≠"),
    ("arrowright", "→"),
    ("arrowleft", "←"),
    ("periodcentered", "·"),
    ("guillemotleft", "«"),
    ("guillemotright", "»"),
    ("Euro", "€"),
    ("ae", "æ"),
    ("oe", "œ"),
    ("oslash", "ø"),
    ("dotlessi", "ı"),
    ("sterling", "£"),
];
