//! Splits HTML into tags and text. Never fails, never recurses, reads each byte once.
//!
//! Handles what is needed to read a page: tags, attributes, comments, elements with raw text, and
//! character references. Builds no tree, so no page can be nested too deeply.

use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HtmlToken<'a> {
    /// Text with undecoded character references.
    Text(&'a str),
    /// The name, and everything up to the closing bracket.
    Open(&'a str, &'a str),
    Close(&'a str),
}

pub(super) struct HtmlTokens<'a> {
    rest: &'a str,
}

impl<'a> HtmlTokens<'a> {
    pub(super) fn new(page: &'a str) -> Self {
        Self { rest: page }
    }

    /// Skips to the end tag of an element with raw text.
    pub(super) fn skip_raw(&mut self, name: &str) -> &'a str {
        let mut from = 0;
        while let Some(at) = self.rest.get(from..).and_then(|rest| rest.find("</")) {
            let start = from + at;
            let after = self.rest.get(start + 2..).unwrap_or_default();
            let is_end = after.get(..name.len()).is_some_and(|it| it.eq_ignore_ascii_case(name));
            if is_end {
                let content = self.rest.get(..start).unwrap_or_default();
                self.rest = after.split_once('>').map_or("", |(_, rest)| rest);
                return content;
            }
            from = start + 2;
        }
        std::mem::take(&mut self.rest)
    }

    fn take_prefix(&mut self, at: usize) -> &'a str {
        let (piece, rest) = self.rest.split_at_checked(at).unwrap_or((self.rest, ""));
        self.rest = rest;
        piece
    }
}

impl<'a> Iterator for HtmlTokens<'a> {
    type Item = HtmlToken<'a>;

    fn next(&mut self) -> Option<HtmlToken<'a>> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let Some(markup) = self.rest.strip_prefix('<') else {
                let end = self.rest.find('<').unwrap_or(self.rest.len());
                return Some(HtmlToken::Text(self.take_prefix(end)));
            };
            match markup.as_bytes().first() {
                Some(b'!' | b'?') => {
                    let end = match markup.strip_prefix("!--") {
                        Some(comment) => comment.split_once("-->"),
                        None => markup.split_once('>'),
                    };
                    self.rest = end.map_or("", |(_, rest)| rest);
                }
                Some(b'/') if markup.as_bytes().get(1).is_some_and(u8::is_ascii_alphabetic) => {
                    let end = markup.find('>').unwrap_or(markup.len());
                    let name = tag_name(markup.get(1..end).unwrap_or_default());
                    self.rest = markup.get(end + 1..).unwrap_or("");
                    return Some(HtmlToken::Close(name));
                }
                Some(letter) if letter.is_ascii_alphabetic() => {
                    let end = find_tag_end(markup);
                    let tag = markup.get(..end).unwrap_or_default();
                    let name = tag_name(tag);
                    self.rest = markup.get(end + 1..).unwrap_or("");
                    return Some(HtmlToken::Open(name, tag.get(name.len()..).unwrap_or_default()));
                }
                _ => return Some(HtmlToken::Text(self.take_prefix(1))),
            }
        }
    }
}

fn tag_name(tag: &str) -> &str {
    let end = tag.find(|letter: char| letter.is_whitespace() || letter == '/' || letter == '>');
    tag.get(..end.unwrap_or(tag.len())).unwrap_or_default()
}

/// The bracket that ends a tag, outside of quotes.
fn find_tag_end(tag: &str) -> usize {
    let mut quote = None;
    let mut is_value = false;
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at,
            (None, b'"' | b'\'') if is_value => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
        is_value = byte == b'=' || is_value && byte.is_ascii_whitespace();
    }
    // For an unclosed quote, the first bracket.
    tag.find('>').unwrap_or(tag.len())
}

pub(super) fn find_attribute<'a>(attributes: &'a str, name: &str) -> Option<Cow<'a, str>> {
    let mut rest = attributes;
    loop {
        rest = rest.trim_start_matches(|letter: char| letter.is_whitespace() || letter == '/');
        let end = rest.find(|letter: char| letter == '=' || letter.is_whitespace());
        let (found, after) = rest.split_at_checked(end?)?;
        let Some(value) = after.trim_start().strip_prefix('=') else {
            rest = after;
            continue;
        };
        let value = value.trim_start();
        let (value, after) = match value.as_bytes().first() {
            Some(quote @ (b'"' | b'\'')) => {
                value.get(1..)?.split_once(char::from(*quote)).unwrap_or((value, ""))
            }
            _ => value.split_once(char::is_whitespace).unwrap_or((value, "")),
        };
        if found.eq_ignore_ascii_case(name) {
            return Some(decode_entities(value));
        }
        rest = after;
    }
}

pub(super) fn decode_entities(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        whole.push_str(before);
        let near = after.get(..after.floor_char_boundary(ENTITY_BYTES_MAX)).unwrap_or_default();
        let name = near.split_once(';').map(|(name, _)| name);
        match name.and_then(|name| Some((name, decode_entity(name)?))) {
            Some((name, letter)) => {
                whole.push(letter);
                rest = after.get(name.len() + 1..).unwrap_or("");
            }
            None => {
                whole.push('&');
                rest = after;
            }
        }
    }
    whole.push_str(rest);
    Cow::Owned(whole)
}

fn decode_entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let number = match number.strip_prefix(['x', 'X']) {
            Some(number) => u32::from_str_radix(number, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(number).filter(|letter| *letter != '\0');
    }
    NAMED_ENTITIES.iter().find(|(known, _)| *known == name).map(|(_, letter)| *letter)
}

/// Limit on the length of a character reference.
const ENTITY_BYTES_MAX: usize = 12;

/// Names that are common in pages.
const NAMED_ENTITIES: &[(&str, char)] = &[
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", ' '),
    ("ensp", ' '),
    ("emsp", ' '),
    ("thinsp", ' '),
    ("shy", '\u{ad}'),
    ("copy", '©'),
    ("reg", '®'),
    ("trade", '™'),
    ("hellip", '…'),
    ("mdash", '—'),
    ("ndash", '–'),
    ("lsquo", '‘'),
    ("rsquo", '’'),
    ("ldquo", '“'),
    ("rdquo", '”'),
    ("laquo", '«'),
    ("raquo", '»'),
    ("bull", '•'),
    ("middot", '·'),
    ("times", '×'),
    ("deg", '°'),
    ("plusmn", '±'),
    ("para", '¶'),
    ("sect", '§'),
    ("rarr", '→'),
    ("larr", '←'),
    ("uarr", '↑'),
    ("darr", '↓'),
    ("euro", '€'),
    ("pound", '£'),
    ("auml", 'ä'),
    ("ouml", 'ö'),
    ("uuml", 'ü'),
    ("Auml", 'Ä'),
    ("Ouml", 'Ö'),
    ("Uuml", 'Ü'),
    ("szlig", 'ß'),
    ("eacute", 'é'),
    ("egrave", 'è'),
    ("agrave", 'à'),
    ("ccedil", 'ç'),
    ("ntilde", 'ñ'),
    ("lbrace", '{'),
    ("rbrace", '}'),
    ("lbrack", '['),
    ("rbrack", ']'),
    ("lpar", '('),
    ("rpar", ')'),
    ("num", '#'),
    ("colon", ':'),
    ("comma", ','),
    ("period", '.'),
    ("excl", '!'),
    ("quest", '?'),
    ("equals", '='),
    ("lowbar", '_'),
    ("grave", '`'),
    ("NewLine", '\n'),
    ("Tab", '\t'),
];
